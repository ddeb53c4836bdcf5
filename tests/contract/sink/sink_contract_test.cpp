// SPDX-License-Identifier: Apache-2.0
#include "contract/sink_contract.hpp"

#include <offramp/transport/memory_sink.hpp>
#include <offramp/transport/memory_source.hpp>
#include <offramp/transport/transport.hpp>

#include <map>
#include <utility>

namespace offramp {
namespace {

SinkCase file(std::string name, bool many, std::string path, std::optional<DType> dtype = {}) {
  SinkCase each{.name = std::move(name), .many = many, .path = std::move(path)};
  each.make = [](const std::string& target, bool overwrite) {
    return make_sink(target, {.format = {}, .overwrite = overwrite}).value();
  };
  each.reopen = [dtype](TensorSink&, const std::string& target) {
    SourceOptions options{.format = {}, .dtype = dtype, .shape = {}};
    // A raw file has no shape of its own: that of the sample, or of the empty tensor.
    if (dtype) {
      options.shape = std::filesystem::file_size(target) == 0 ? Shape{0, 3} : Shape{5, 7, 3};
    }
    return open_source(target, options).value();
  };
  return each;
}

SinkCase own_memory() {
  SinkCase each{.name = "own_memory"};
  each.make = [](const std::string&, bool) { return std::make_unique<MemorySink>(); };
  each.reopen = [](TensorSink& sink, const std::string&) {
    const auto& memory = dynamic_cast<const MemorySink&>(sink);
    std::vector<NamedTensor> tensors;
    for (std::size_t i = 0; i < memory.tensors().size(); ++i) {
      const TensorInfo& info = memory.tensors()[i];
      tensors.push_back({info.name, {info.desc, memory.bytes(i)}});
    }
    return std::make_unique<MemorySource>(std::move(tensors), memory.metadata());
  };
  return each;
}

INSTANTIATE_TEST_SUITE_P(sinks, SinkContract,
                         testing::Values(own_memory(), file("safetensors", true, "a.safetensors"),
                                         file("npy", false, "one.npy"),
                                         file("raw", false, "one.raw", DType::fp32),
                                         file("folder", true, "folder")),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace offramp
