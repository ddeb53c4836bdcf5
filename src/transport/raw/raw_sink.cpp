// SPDX-License-Identifier: Apache-2.0
#include "transport/raw/raw_sink.hpp"

#include "transport/one_tensor_sink.hpp"

namespace offramp {

std::unique_ptr<TensorSink> make_raw_sink(const std::string& path, OutputFile::Existing existing) {
  return std::make_unique<OneTensorSink>(
      path, existing, [](const TensorDesc&, const std::string&) { return std::string(); });
}

}  // namespace offramp
