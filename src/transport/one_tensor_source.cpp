// SPDX-License-Identifier: Apache-2.0
#include "transport/one_tensor_source.hpp"

#include "core/utf8.hpp"
#include "transport/folder/file_names.hpp"
#include "transport/tensor_checks.hpp"

#include <fmt/format.h>

#include <utility>

namespace offramp {

OneTensorSource::OneTensorSource(InputFile file, TensorInfo tensor, std::uint64_t data)
    : file_(std::move(file)), tensor_(std::move(tensor)), data_(data) {}

Result<std::unique_ptr<TensorSource>> OneTensorSource::make(InputFile file, TensorDesc desc,
                                                            std::uint64_t data) {
  const std::string stem(file_stem(file.path()));
  std::string name = unescape_name(stem).value_or(stem);
  if (!is_utf8(name)) name = stem;
  if (!is_utf8(name)) {
    return Error{.code = ErrorCode::bad_name,
                 .what = "the file's name, which names its tensor, is not UTF-8",
                 .path = file.path(),
                 .remedy = "rename the file"};
  }
  return std::unique_ptr<TensorSource>(
      new OneTensorSource(std::move(file), {.name = std::move(name), .desc = desc}, data));
}

void OneTensorSource::read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) {
  file_.read_unchanged(data_ + byte_offset_in(tensor_at(tensors(), tensor), first_elem, out.size()),
                       out);
}

}  // namespace offramp
