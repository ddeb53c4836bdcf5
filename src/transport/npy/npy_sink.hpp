// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>
#include <offramp/transport/tensor_sink.hpp>

#include <memory>
#include <string>

namespace offramp {

/// One tensor into an .npy file; its `begin` refuses a dtype that npy lacks rather than change it.
std::unique_ptr<TensorSink> make_npy_sink(const std::string& path, OutputFile::Existing existing);

}  // namespace offramp
