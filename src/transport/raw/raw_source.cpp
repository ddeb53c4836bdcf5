// SPDX-License-Identifier: Apache-2.0
#include "transport/raw/raw_source.hpp"

#include "transport/one_tensor_source.hpp"

#include <offramp/core/file.hpp>

#include <fmt/format.h>

#include <utility>

namespace offramp {

Result<std::unique_ptr<TensorSource>> open_raw_source(const std::string& path,
                                                      std::optional<DType> dtype,
                                                      const std::optional<Shape>& shape) {
  if (!dtype) {
    return Error{.code = ErrorCode::unknown_dtype,
                 .what = "a raw file does not say what it holds",
                 .path = path,
                 .remedy = "state its dtype, and its shape if it has more than one axis"};
  }
  InputFile file(path);
  const std::size_t elem_size = size_of(*dtype);
  const TensorDesc desc{.dtype = *dtype, .shape = shape.value_or(Shape{file.size() / elem_size})};
  const auto size = desc.checked_size();
  if (size != file.size()) {
    return Error{.code = ErrorCode::mismatch,
                 .what = fmt::format("dtype {} and shape {} make {} bytes, the file has {}",
                                     name_of(*dtype), desc.shape.to_string(),
                                     size ? fmt::to_string(*size) : "over 2^64", file.size()),
                 .path = path,
                 .remedy = "state the dtype and shape that it was written with"};
  }
  return OneTensorSource::make(std::move(file), desc, 0);
}

}  // namespace offramp
