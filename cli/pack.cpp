// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "device_choice.hpp"
#include "inputs.hpp"
#include "text.hpp"

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

namespace offramp::cli {
namespace {

struct Options {
  std::string in{};
  std::string out{};
  std::string codec{"exact"};
  std::string format{};
  std::string dtype{};
  std::string shape{};
  bool overwrite{false};
  JobOptions job{};
};

SourceOptions source_options(const Options& options) {
  SourceOptions source{.format = options.format};
  if (!options.dtype.empty()) {
    source.dtype = dtype_from_name(options.dtype);
    if (!source.dtype) {
      throw CLI::ValidationError(fmt::format(
          "no dtype is called '{}'; see `offramp pack --help` for the names", options.dtype));
    }
  }
  if (!options.shape.empty()) source.shape = parse_shape(options.shape);
  return source;
}

int pack(const Options& options, const Context& context) {
  if (same_file(options.in, options.out)) {
    throw UsageError({.code = ErrorCode::mismatch,
                      .what = "input and output are the same file",
                      .path = options.out,
                      .remedy = "choose another output"});
  }
  options.job.check(options.in, options.out);
  JobOptions::Extras extras = options.job.open_extras();
  const Codec codec = named(Codec::from_name(options.codec));
  Workers workers(options.job.threads);
  const auto source = open_tensors(options.in, source_options(options), workers);
  ArchiveWriter writer(options.out, options.overwrite ? OutputFile::Existing::overwrite
                                                      : OutputFile::Existing::refuse);
  std::uint64_t raw_size = 0;
  for (const TensorInfo& info : source->tensors()) raw_size += info.desc.size();

  const auto start = std::chrono::steady_clock::now();
  Progress progress("pack", raw_size, context.progress_style());
  const JobSettings settings = options.job.settings(context, progress, DeviceWork(*source, codec));
  const JobReport report = offramp::pack(*source, writer, codec, settings).value();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  extras.write(settings, report.counters, options.out);

  const double ratio =
      writer.size() ? static_cast<double>(raw_size) / static_cast<double>(writer.size()) : 0;
  const nlohmann::json machine{{"ok", true},
                               {"command", "pack"},
                               {"input", options.in},
                               {"output", options.out},
                               {"codec", options.codec},
                               {"device", settings.device->name()},
                               {"tensors", report.tensors},
                               {"raw_bytes", raw_size},
                               {"archive_bytes", writer.size()},
                               {"ratio", ratio},
                               {"seconds", seconds},
                               {"counters", nlohmann::json::parse(report.counters.to_json())}};
  context.print(machine, fmt::format("{}: {}, {} -> {}, ratio {:.3f}, {:.2f} s, {}\n", options.out,
                                     counted(report.tensors, "tensor"), human_size(raw_size),
                                     human_size(writer.size()), ratio, seconds,
                                     human_rate(raw_size, seconds)));
  return done;
}

}  // namespace

void add_pack(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("pack", "Shrink tensors into an archive, bit for bit");
  auto options = std::make_shared<Options>();
  command
      ->add_option("IN", options->in,
                   "What to pack: .safetensors, .npy, .bin or .raw (with --dtype), .ofr, or a "
                   "folder of these")
      ->required();
  command->add_option("OUT", options->out, "The archive to write (.ofr)")->required();
  command
      ->add_option("--codec", options->codec,
                   "exact (memory speed), exact-dense (smaller, slower) or store")
      ->capture_default_str();
  command->add_flag("--overwrite", options->overwrite, "Replace OUT if it exists");
  command->add_option("--format", options->format,
                      "Read IN as safetensors, npy, raw or folder, whatever its name");
  command->add_option("--dtype", options->dtype,
                      "Of a raw file: bf16 fp16 fp32 fp64 fp8_e4m3 fp8_e5m2 u8 i8 i16 i32 i64 bool "
                      "u16 u32 u64");
  command->add_option("--shape", options->shape, "Of a raw file, such as 3,1024,64");
  options->job.add_to(*command, true);
  context.add_common_options(*command);
  command->callback(
      [options, &context] { context.run = [=, &context] { return pack(*options, context); }; });
}

}  // namespace offramp::cli
