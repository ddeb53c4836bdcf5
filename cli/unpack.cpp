// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "device_choice.hpp"
#include "inputs.hpp"
#include "output.hpp"
#include "text.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/core/file.hpp>
#include <offramp/device/device_table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <vector>

namespace offramp::cli {
namespace {

struct Options {
  std::string in{};
  std::string out{};
  std::string format{};
  std::string tensor{};
  std::string rows{};
  bool overwrite{false};
  bool skip_incomplete{false};
  JobOptions job{};
};

struct Rows {
  std::uint64_t first{};
  std::uint64_t last{};  // behind the last
};

Rows parse_rows(const std::string& text) {
  Rows rows;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, rows.first);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == ':') {
    const auto last = std::from_chars(first.ptr + 1, end, rows.last);
    if (last.ec == std::errc{} && last.ptr == end && rows.first < rows.last) return rows;
  }
  throw CLI::ValidationError(
      fmt::format("'{}' is no range of rows: write FIRST:END such as 100:200", text));
}

// What of a tensor was asked for, as a tensor of its own: rows are all axes but the last together.
TensorInfo selection(const ArchiveTensor& tensor, const std::string& text, Rows& rows) {
  const Shape& shape = tensor.desc.shape;
  const std::uint64_t channels = shape.rank() ? shape[shape.rank() - 1] : 1;
  const std::uint64_t row_count = channels ? shape.elems() / channels : 0;
  rows = {.first = 0, .last = row_count};
  if (text.empty()) return {.name = tensor.name, .desc = tensor.desc};
  rows = parse_rows(text);
  if (rows.last > row_count) {
    throw UsageError(
        {.code = ErrorCode::not_found,
         .what = fmt::format("tensor '{}' has rows 0 to {}, not {}", tensor.name, row_count, text),
         .path = {},
         .remedy = "rows count all axes but the last together; see `offramp info`"});
  }
  return {.name = tensor.name,
          .desc = {.dtype = tensor.desc.dtype, .shape = {rows.last - rows.first, channels}}};
}

// One tensor, or some of its rows: only the records and blocks that hold them are read.
std::uint64_t unpack_selection(ArchiveReader& reader, TensorSink& sink, const Options& options,
                               const JobSettings& settings) {
  const ArchiveTensor* tensor = reader.find(options.tensor);
  if (!tensor) {
    throw UsageError({.code = ErrorCode::not_found,
                      .what = fmt::format("no tensor is called '{}'", options.tensor),
                      .path = reader.name(),
                      .remedy = "see `offramp info` for the names"});
  }
  Rows rows;
  const std::vector<TensorInfo> wanted{selection(*tensor, options.rows, rows)};
  sink.begin(wanted, {});
  Workers workers(settings.threads);
  const std::uint64_t elems = wanted[0].desc.shape.elems();
  const std::size_t elem_size = size_of(wanted[0].desc.dtype);
  const std::uint64_t channels =
      elems ? elems / std::max<std::uint64_t>(1, rows.last - rows.first) : 0;
  const std::uint64_t most = std::max<std::uint64_t>(1, settings.max_part_size / elem_size);
  std::vector<std::byte> buffer;
  for (std::uint64_t at = 0, count = 0; at < elems; at += count) {
    if (settings.cancel.stop_requested()) {
      throw DataError(
          {.code = ErrorCode::cancelled, .what = "cancelled", .path = options.out, .remedy = {}});
    }
    // Up to the end of a part, so that each is read and checked once, however large parts are.
    const ElemRange range{.tensor = tensor->name, .first_elem = rows.first * channels + at};
    const auto part = std::ranges::partition_point(tensor->parts, [&](const ArchivePart& before) {
      return before.first_elem + before.elems() <= range.first_elem;
    });
    count = std::min(elems - at, most);
    if (part != tensor->parts.end()) {
      count = std::min(count, part->first_elem + part->elems() - range.first_elem);
    }
    buffer.resize(std::max(buffer.size(), count * elem_size));
    const auto out = std::span(buffer).first(count * elem_size);
    read_elems(reader, range, out, workers).value();
    sink.write(0, at, out);
  }
  sink.finish();
  return wanted[0].desc.size();
}

// npy and raw files hold one tensor.
void expect_fits(const ArchiveReader& reader, std::string_view format, const Options& options) {
  const std::size_t tensors = reader.tensors().size();
  const bool holds_one = format == "npy" || format == "raw";
  if (!holds_one || tensors == 1 || !options.tensor.empty() || options.skip_incomplete) return;
  throw UsageError({.code = ErrorCode::unsupported,
                    .what = fmt::format("this kind of file holds one tensor, not {}", tensors),
                    .path = options.out,
                    .remedy = "choose one by --tensor, or write a .safetensors file or a folder"});
}

int unpack(const Options& options, const Context& context) {
  if (same_file(options.in, options.out)) {
    throw UsageError({.code = ErrorCode::mismatch,
                      .what = "input and output are the same file",
                      .path = options.out,
                      .remedy = "choose another output"});
  }
  options.job.check(options.in, options.out);
  if (!options.rows.empty() && options.tensor.empty()) {
    throw CLI::ValidationError("--rows needs --tensor NAME");
  }
  JobOptions::Extras extras = options.job.open_extras();
  const SinkOptions to{.format = options.format, .overwrite = options.overwrite};
  const std::string_view format = named(sink_format(options.out, to));
  ArchiveReader reader = ArchiveReader::open(options.in).value();
  expect_fits(reader, format, options);
  const auto sink = make_sink(options.out, to).value();
  std::uint64_t raw_size = 0;
  for (const ArchiveTensor& tensor : reader.tensors()) raw_size += tensor.desc.size();

  const auto start = std::chrono::steady_clock::now();
  Progress progress("unpack", raw_size, context.progress_style());
  JobSettings settings = options.job.settings(context, progress, DeviceWork(reader));
  settings.skip_incomplete = options.skip_incomplete;
  if (!options.tensor.empty()) {
    if (options.job.device != "auto" && settings.device != &host_device()) {
      throw CLI::ValidationError("one tensor is restored on the host: use --device host or auto");
    }
    settings.device = &host_device();
  }
  nlohmann::json counters;
  std::vector<std::string> skipped;
  std::uint64_t tensors = 1;
  if (options.tensor.empty()) {
    const JobReport report = offramp::unpack(reader, *sink, settings).value();
    extras.write(settings, report.counters, options.out);
    counters = nlohmann::json::parse(report.counters.to_json());
    tensors = report.tensors;
    skipped = report.skipped;
  } else {
    raw_size = unpack_selection(reader, *sink, options, settings);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  nlohmann::json machine{{"ok", true},
                         {"command", "unpack"},
                         {"input", options.in},
                         {"output", options.out},
                         {"device", settings.device->name()},
                         {"tensors", tensors},
                         {"raw_bytes", raw_size},
                         {"archive_bytes", reader.size()},
                         {"seconds", seconds}};
  if (!counters.is_null()) machine["counters"] = counters;
  if (!skipped.empty()) machine["skipped"] = skipped;
  for (const std::string& name : skipped) {
    say(fmt::format("offramp: {}: left out '{}', which misses a part\n", options.in,
                    printable(name)));
  }
  context.print(machine,
                fmt::format("{}: {}, {}, {:.2f} s, {}\n", options.out, counted(tensors, "tensor"),
                            human_size(raw_size), seconds, human_rate(raw_size, seconds)));
  return done;
}

}  // namespace

void add_unpack(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("unpack", "Restore an archive's tensors, or one, or some rows");
  auto options = std::make_shared<Options>();
  command->add_option("IN", options->in, "The archive (.ofr)")->required();
  command
      ->add_option("OUT", options->out,
                   "Where to: .safetensors, .npy or .bin (one tensor), or a folder")
      ->required();
  command->add_option("--tensor", options->tensor, "Restore only the tensor of that name");
  command->add_option("--rows", options->rows,
                      "With --tensor: only rows FIRST:END, all axes but the last counted together");
  command->add_flag("--overwrite", options->overwrite, "Replace OUT if it exists");
  command->add_flag(
      "--skip-incomplete", options->skip_incomplete,
      "After `recover`: restore the whole tensors and leave out those that miss a part");
  command->add_option("--format", options->format,
                      "Write OUT as safetensors, npy, raw or folder, whatever its name");
  options->job.add_to(*command, false);
  context.add_common_options(*command);
  command->callback(
      [options, &context] { context.run = [=, &context] { return unpack(*options, context); }; });
}

}  // namespace offramp::cli
