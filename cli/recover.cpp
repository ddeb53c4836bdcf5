// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "text.hpp"

#include <offramp/container/archive_writer.hpp>
#include <offramp/container/recover_archive.hpp>
#include <offramp/core/file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace offramp::cli {
namespace {

struct Options {
  std::string in{};
  std::string out{};
  bool overwrite{false};
};

int recover(const Options& options, const Context& context) {
  if (same_file(options.in, options.out)) {
    throw UsageError({.code = ErrorCode::mismatch,
                      .what = "input and output are the same file",
                      .path = options.out,
                      .remedy = "choose another output: the damaged file is kept as it is"});
  }
  const FileAccess in{InputFile(options.in)};
  ArchiveWriter writer(options.out, options.overwrite ? OutputFile::Existing::overwrite
                                                      : OutputFile::Existing::refuse);
  Progress progress("recover", in.size(), context.progress_style());
  RecoverSettings settings;
  settings.progress = [&](std::uint64_t at, std::uint64_t) {
    progress.update(at);
    return !context.stop.stop_requested();
  };
  const RecoverReport report = recover_archive(in, writer, settings).value();
  if (report.parts == 0) {
    throw DataError({.code = ErrorCode::not_found,
                     .what = "holds no whole record",
                     .path = options.in,
                     .remedy = "nothing can be restored from it, and nothing was written"});
  }
  writer.finish();
  const bool whole = report.lossless() && report.incomplete.empty();

  auto lost = nlohmann::json::array();
  std::string human;
  for (const auto& range : report.lost) {
    lost.push_back({{"begin", range.begin},
                    {"end", range.end},
                    {"tensor", range.tensor},
                    {"why", range.why.message()}});
    human +=
        fmt::format("lost bytes {} to {}{}: {}\n", range.begin, range.end,
                    range.tensor.empty() ? "" : " of " + printable(range.tensor), range.why.what);
  }
  for (const std::string& name : report.incomplete) {
    human += fmt::format("incomplete: {} (`unpack --skip-incomplete` restores the others)\n",
                         printable(name));
  }
  human += fmt::format("{}: {}, {}; {}\n", options.out, counted(report.parts, "whole record"),
                       human_size(report.payload_bytes),
                       report.lossless()  ? "nothing was lost"
                       : report.had_index ? fmt::format("{} bytes were lost", report.lost_bytes)
                                          : "the file was cut: what came behind is missing");
  context.print({{"ok", whole},
                 {"command", "recover"},
                 {"input", options.in},
                 {"output", options.out},
                 {"parts", report.parts},
                 {"payload_bytes", report.payload_bytes},
                 {"lossless", report.lossless()},
                 {"had_index", report.had_index},
                 {"lost_bytes", report.lost_bytes},
                 {"lost", lost},
                 {"incomplete", report.incomplete}},
                human);
  return whole ? done : bad_data;
}

}  // namespace

void add_recover(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("recover", "Copy every whole record of a damaged or cut archive");
  auto options = std::make_shared<Options>();
  command
      ->add_option("IN", options->in,
                   "The damaged archive; after a crash, the OUT.ofr.tmp-... that pack left")
      ->required();
  command->add_option("OUT", options->out, "The archive to write (.ofr)")->required();
  command->add_flag("--overwrite", options->overwrite, "Replace OUT if it exists");
  context.add_common_options(*command);
  command->callback(
      [options, &context] { context.run = [=, &context] { return recover(*options, context); }; });
}

}  // namespace offramp::cli
