// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>
#include <offramp/transport/tensor_sink.hpp>

#include <memory>
#include <string>

namespace offramp {

/// One tensor's bytes into a file, and nothing else.
std::unique_ptr<TensorSink> make_raw_sink(const std::string& path, OutputFile::Existing existing);

}  // namespace offramp
