// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "device_choice.hpp"
#include "inputs.hpp"
#include "output.hpp"
#include "text.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/verify_archive.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace offramp::cli {
namespace {

struct Options {
  std::string in{};
  JobOptions job{};
};

nlohmann::json to_json(const Error& error) {
  return {{"code", name_of(error.code)}, {"message", error.message()}};
}

// One fault stops the job; a person wants to know them all, so the checksums are gone through
// again.
int report_faults(const ArchiveReader& reader, const Error& first, const Context& context) {
  std::vector<Error> faults = verify_archive(reader).errors;
  if (faults.empty()) faults.push_back(first);
  auto list = nlohmann::json::array();
  for (const Error& fault : faults) {
    say(fmt::format("offramp: {}\n", fault.message()));
    list.push_back(to_json(fault));
  }
  const bool cut_at_the_start = !reader.complete() && reader.part_count() == 0 &&
                                reader.damage().code == ErrorCode::truncated;
  context.print({{"ok", false}, {"command", "verify"}, {"input", reader.name()}, {"faults", list}},
                fmt::format("{}: damaged, {}; {}\n", reader.name(), counted(faults.size(), "fault"),
                            cut_at_the_start ? "no whole record was found"
                                             : "`offramp recover` copies what is whole"));
  return bad_data;
}

int verify(const Options& options, const Context& context) {
  options.job.check(options.in, {});
  JobOptions::Extras extras = options.job.open_extras();
  ArchiveReader reader = ArchiveReader::open(options.in).value();
  if (!reader.complete()) return report_faults(reader, reader.damage(), context);
  std::uint64_t raw_size = 0;
  for (const ArchiveTensor& tensor : reader.tensors()) raw_size += tensor.desc.size();
  Progress progress("verify", raw_size, context.progress_style());
  const JobSettings settings = options.job.settings(context, progress, DeviceWork(reader));
  const auto report = offramp::verify(reader, settings);
  if (!report) {
    if (report.error().code == ErrorCode::cancelled) throw DataError(report.error());
    return report_faults(reader, report.error(), context);
  }
  extras.write(settings, report->counters, "the check");
  context.print(
      {{"ok", true},
       {"command", "verify"},
       {"input", options.in},
       {"device", settings.device->name()},
       {"tensors", report->tensors},
       {"parts", reader.part_count()},
       {"raw_bytes", raw_size},
       {"archive_bytes", reader.size()}},
      fmt::format("{}: sound, {} in {}, every checksum and every block\n", options.in,
                  counted(report->tensors, "tensor"), counted(reader.part_count(), "part")));
  return done;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("verify", "Check every checksum and decode every block");
  auto options = std::make_shared<Options>();
  command->add_option("IN", options->in, "The archive (.ofr)")->required();
  options->job.add_to(*command, false);
  context.add_common_options(*command);
  command->callback(
      [options, &context] { context.run = [=, &context] { return verify(*options, context); }; });
}

}  // namespace offramp::cli
