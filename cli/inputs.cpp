// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include "device_choice.hpp"

#include <offramp/core/file.hpp>
#include <offramp/engine/archive_source.hpp>
#include <offramp/engine/pipeline.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

namespace offramp::cli {

bool one_target(const std::string& a, const std::string& b) {
  if (same_file(a, b)) return true;
  std::error_code failed;
  const auto full_a = std::filesystem::weakly_canonical(std::filesystem::absolute(a), failed);
  if (failed) return false;
  const auto full_b = std::filesystem::weakly_canonical(std::filesystem::absolute(b), failed);
  return !failed && full_a == full_b;
}

std::unique_ptr<TensorSource> open_tensors(const std::string& path, const SourceOptions& options,
                                           Workers& workers) {
  if (options.format.empty() && path.ends_with(".ofr")) {
    return ArchiveSource::open(path, workers).value();
  }
  const std::string_view format = named(source_format(path, options));
  if (format == "raw" && !options.dtype) {
    throw UsageError({.code = ErrorCode::unknown_dtype,
                      .what = "a raw file does not say what it holds",
                      .path = path,
                      .remedy = "give `offramp pack` its --dtype, and its --shape where it has "
                                "more than one axis"});
  }
  return open_source(path, options).value();
}

std::size_t parse_size(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  double scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "k" || unit == "K" || unit == "KiB") scale = 1024;
  if (unit == "M" || unit == "MiB") scale = 1024.0 * 1024;
  if (unit == "G" || unit == "GiB") scale = 1024.0 * 1024 * 1024;
  const double bytes = value * scale;
  if (error != std::errc{} || !(bytes >= 1) || bytes > 1e15 || bytes != std::floor(bytes)) {
    throw CLI::ValidationError(
        fmt::format("'{}' is no size: write bytes, or a number with k, M or G such as 8M", text));
  }
  return static_cast<std::size_t>(bytes);
}

Shape parse_shape(const std::string& text) {
  std::vector<std::uint64_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    const bool goes_on = next != end && *next == ',' && next + 1 != end;
    if (error != std::errc{} || (next != end && !goes_on) || extents.size() == Shape::max_rank) {
      throw CLI::ValidationError(fmt::format(
          "'{}' is no shape: write up to {} extents such as 3,1024,64", text, Shape::max_rank));
    }
    extents.push_back(extent);
    at = goes_on ? next + 1 : next;
  }
  return Shape(std::span<const std::uint64_t>(extents));
}

void JobOptions::add_to(CLI::App& command, bool packs) {
  command
      .add_option("--threads", threads,
                  packs ? "Threads that code (0: one for each processor, at most 8)"
                        : "Threads that code (0: one for each processor)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option(
          "--slots", slots,
          "Chunks in flight; more hide a slower disk, at a chunk each (0: 6, and more to pack "
          "with more than two threads)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  if (packs) {
    command
        .add_option(
            "--chunk", chunk,
            "Size of a chunk, such as 8M: the unit of restoring, and with --slots the bound "
            "of memory")
        ->capture_default_str();
  }
  command
      .add_option(
          "--device", device,
          "Where to code: host, a GPU such as cuda:0, or auto: the first GPU where it pays, "
          "for large jobs of few threads, else the host")
      ->capture_default_str();
  command.add_option("--trace", trace_path,
                     "Write a timeline as JSON, for https://ui.perfetto.dev or chrome://tracing");
  command.add_option("--metrics", metrics_path, "Write the counters as Prometheus text");
}

void JobOptions::check(const std::string& in, const std::string& out) const {
  const auto refuse = [](const std::string& path, const std::string& other) {
    if (path.empty() || other.empty() || !one_target(path, other)) return;
    throw UsageError({.code = ErrorCode::mismatch,
                      .what = "would be overwritten by the trace or the metrics",
                      .path = other,
                      .remedy = "choose another path for --trace or --metrics"});
  };
  for (const std::string& path : {trace_path, metrics_path}) {
    refuse(path, in);
    refuse(path, out);
  }
  refuse(trace_path, metrics_path);
}

JobSettings JobOptions::settings(const Context& context, Progress& progress,
                                 const DeviceWork& work) const {
  JobSettings settings;
  settings.device = &choose_device(device, work, threads);
  settings.threads = threads;
  settings.host_slots = slots;
  settings.chunk_size = parse_size(chunk);
  // What unpack refuses by default is not to be written.
  if (settings.chunk_size < Pipeline::part_alignment ||
      settings.chunk_size > settings.max_part_size) {
    throw CLI::ValidationError(fmt::format("--chunk {} is not in range 64 to 1G", chunk));
  }
  settings.cancel = context.stop;
  settings.on_progress = [&progress](const JobProgress& now) { progress.update(now.bytes_done); };
  if (!trace_path.empty()) settings.trace = std::make_shared<Trace>();
  return settings;
}

void JobOptions::Extras::write(const JobSettings& settings, const Counters& counters,
                               const std::string& output) {
  if (settings.trace) trace.write(settings.trace->to_json(), output);
  if (metrics) metrics.write(counters.to_prometheus(), output);
}

}  // namespace offramp::cli
