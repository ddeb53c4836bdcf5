// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <memory>
#include <string>

namespace offramp {

/// The array of an .npy file as one tensor, named after the file.
/// @throws IoError.
Result<std::unique_ptr<TensorSource>> open_npy_source(const std::string& path);

}  // namespace offramp
