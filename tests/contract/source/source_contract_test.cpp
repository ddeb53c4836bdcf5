// SPDX-License-Identifier: Apache-2.0
#include "contract/source_contract.hpp"

#include <offramp/transport/memory_source.hpp>
#include <offramp/transport/transport.hpp>

#include <utility>

namespace offramp {
namespace {

// Written by the sink of the same kind, whose bytes are compared with other programs' elsewhere.
SourceCase written(std::string name, bool many, const std::string& path, std::string last_file,
                   const SourceOptions& options = {}) {
  const auto make = [=](const TensorSet& set, const ScratchFolder& scratch) {
    set.write_to(*make_sink(scratch / path).value());
    return open_source(scratch / path, options).value();
  };
  return {.name = std::move(name), .many = many, .file = std::move(last_file), .make = make};
}

std::string numbered_file(std::size_t number) {
  return "folder/" + std::to_string(1000 + number) + ".safetensors";
}

// One file a tensor, and no list of them.
SourceCase plain_folder() {
  const auto make = [](const TensorSet& set, const ScratchFolder& scratch) {
    std::filesystem::create_directory(scratch / "folder");
    for (std::size_t i = 0; i < set.infos.size(); ++i) {
      const auto sink = make_sink(scratch / numbered_file(i)).value();
      sink->begin(std::span(set.infos).subspan(i, 1), set.metadata);
      sink->write(0, 0, set.bytes[i]);
      sink->finish();
    }
    return open_source(scratch / "folder").value();
  };
  const std::size_t last = sample_tensors(true).infos.size() - 1;
  return {.name = "plain_folder", .many = true, .file = numbered_file(last), .make = make};
}

SourceCase memory() {
  const auto make = [](const TensorSet& set, const ScratchFolder&) {
    return std::make_unique<MemorySource>(set.named(), set.metadata);
  };
  return {.name = "memory", .many = true, .file = {}, .make = make};
}

INSTANTIATE_TEST_SUITE_P(
    sources, SourceContract,
    testing::Values(memory(), written("safetensors", true, "a.safetensors", "a.safetensors"),
                    written("npy", false, "one.npy", "one.npy"),
                    written("raw", false, "one.raw", "one.raw",
                            {.format = {}, .dtype = DType::fp32, .shape = Shape{5, 7, 3}}),
                    written("listed_folder", true, "folder/", "folder/deep.npy"), plain_folder()),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace offramp
