// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <memory>
#include <optional>
#include <string>

namespace offramp {

/// A file of nothing but a tensor's bytes, little-endian and row-major. Without a shape the tensor
/// has one axis. @throws IoError.
Result<std::unique_ptr<TensorSource>> open_raw_source(const std::string& path,
                                                      std::optional<DType> dtype,
                                                      const std::optional<Shape>& shape);

}  // namespace offramp
