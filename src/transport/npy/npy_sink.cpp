// SPDX-License-Identifier: Apache-2.0
#include "transport/npy/npy_sink.hpp"

#include "transport/npy/npy_header.hpp"
#include "transport/one_tensor_sink.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

namespace offramp {
namespace {

std::string front_of(const TensorDesc& desc, const std::string& path) {
  if (npy_name_of(desc.dtype)) return make_npy_header(desc);
  throw DataError({.code = ErrorCode::unsupported,
                   .what = fmt::format(".npy has no dtype {}", name_of(desc.dtype)),
                   .path = path,
                   .remedy = "write to a .safetensors file"});
}

}  // namespace

std::unique_ptr<TensorSink> make_npy_sink(const std::string& path, OutputFile::Existing existing) {
  return std::make_unique<OneTensorSink>(path, existing, front_of);
}

}  // namespace offramp
