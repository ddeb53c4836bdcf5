// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "output.hpp"
#include "text.hpp"

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_reader.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace offramp::cli {
namespace {

// The codecs of a tensor's parts, each once: "exact", or "exact, store" where some did not shrink.
std::string codecs_of(const ArchiveReader& reader, const ArchiveTensor& tensor) {
  std::vector<std::string> names;
  for (const ArchivePart& part : tensor.parts) {
    const auto codec = Codec::parse(reader.chain(part));
    const std::string name = codec ? codec->name() : "unknown";
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

double ratio(std::uint64_t raw, std::uint64_t coded) {
  return coded ? static_cast<double>(raw) / static_cast<double>(coded) : 0;
}

int info(const std::string& path, const Context& context) {
  const ArchiveReader reader = ArchiveReader::open(path).value();
  const auto metadata = reader.metadata().value();
  std::uint64_t raw_size = 0;
  auto text = nlohmann::json::object();
  for (const auto& [key, value] : metadata) text[key] = value;
  auto tensors = nlohmann::json::array();
  Table table({"tensor", "dtype", "shape", "codec", "size", "packed", "ratio"});
  for (const ArchiveTensor& tensor : reader.tensors()) {
    const std::uint64_t raw = tensor.desc.size();
    const std::uint64_t stored = tensor.stored_size();
    const std::string codecs = codecs_of(reader, tensor);
    raw_size += raw;
    tensors.push_back({{"name", tensor.name},
                       {"dtype", name_of(tensor.desc.dtype)},
                       {"shape", tensor.desc.shape.extents()},
                       {"codec", codecs},
                       {"parts", tensor.parts.size()},
                       {"raw_bytes", raw},
                       {"stored_bytes", stored},
                       {"whole", !tensor.first_gap()}});
    table.add({printable(tensor.name), std::string(name_of(tensor.desc.dtype)),
               tensor.desc.shape.to_string(), codecs, human_size(raw), human_size(stored),
               fmt::format("{:.3f}{}", ratio(raw, stored), tensor.first_gap() ? " (cut)" : "")});
  }
  std::string human = table.to_string();
  for (const auto& [key, value] : metadata) {
    human += fmt::format("metadata {}: {}\n", printable(key), printable(value, 100));
  }
  human += fmt::format("{}: format {}, {}, {} -> {}, ratio {:.3f}\n", path, reader.version(),
                       counted(reader.tensors().size(), "tensor"), human_size(raw_size),
                       human_size(reader.size()), ratio(raw_size, reader.size()));
  nlohmann::json machine{{"ok", reader.complete()},
                         {"command", "info"},
                         {"input", path},
                         {"format_version", reader.version()},
                         {"complete", reader.complete()},
                         {"raw_bytes", raw_size},
                         {"archive_bytes", reader.size()},
                         {"ratio", ratio(raw_size, reader.size())},
                         {"metadata", text},
                         {"tensors", tensors}};
  if (!reader.complete()) {
    machine["damage"] = reader.damage().message();
    say(fmt::format("offramp: {}\n", reader.damage().message()));
  }
  context.print(machine, human);
  return reader.complete() ? done : bad_data;
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("info", "List an archive's tensors, codecs and sizes");
  auto path = std::make_shared<std::string>();
  command->add_option("IN", *path, "The archive (.ofr)")->required();
  context.add_common_options(*command);
  command->callback(
      [path, &context] { context.run = [=, &context] { return info(*path, context); }; });
}

}  // namespace offramp::cli
