// SPDX-License-Identifier: Apache-2.0
#include "transport/tensor_checks.hpp"

#include "core/checks.hpp"
#include "core/utf8.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace offramp {
namespace {

constexpr std::size_t longest_shown = 60;
constexpr std::uint64_t max_file_size = std::numeric_limits<std::int64_t>::max();

// A text that stands twice among those `text_of(0 .. count - 1)`, or nullptr.
template <class TextOf>
const std::string* find_twice(std::size_t count, TextOf text_of) {
  std::vector<const std::string*> texts(count);
  for (std::size_t i = 0; i < count; ++i) texts[i] = &text_of(i);
  std::ranges::sort(texts, {}, [](const std::string* text) -> const std::string& { return *text; });
  const auto twice = std::ranges::adjacent_find(
      texts, [](const std::string* a, const std::string* b) { return *a == *b; });
  return twice == texts.end() ? nullptr : *twice;
}

}  // namespace

std::string shown_name(std::string_view name) {
  std::string shown = "'";
  for (const char c : name.substr(0, longest_shown)) {
    if (c >= ' ' && c < 0x7F) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  shown += '\'';
  if (name.size() > longest_shown) shown += fmt::format("... ({} bytes)", name.size());
  return shown;
}

std::uint64_t byte_offset_in(const TensorInfo& tensor, std::uint64_t first_elem, std::size_t size) {
  const std::size_t elem_size = size_of(tensor.desc.dtype);
  const std::uint64_t elems = tensor.desc.shape.elems();
  OFFRAMP_EXPECTS(size % elem_size == 0, "a range of a tensor is a whole number of elements");
  OFFRAMP_EXPECTS(
      first_elem <= elems && size / elem_size <= elems - first_elem,
      fmt::format("elements {} to {} are not all inside tensor {} of {} elements", first_elem,
                  first_elem + size / elem_size, shown_name(tensor.name), elems));
  return first_elem * elem_size;
}

const TensorInfo& tensor_at(std::span<const TensorInfo> tensors, std::size_t number) {
  OFFRAMP_EXPECTS(number < tensors.size(),
                  fmt::format("there is no tensor number {} of {}", number, tensors.size()));
  return tensors[number];
}

std::uint64_t check_tensors(std::span<const TensorInfo> tensors, const Metadata& metadata,
                            const std::string& path) {
  std::uint64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    const auto size = tensor.desc.checked_size();
    if (!size || __builtin_add_overflow(total, *size, &total) || total > max_file_size) {
      throw DataError({.code = ErrorCode::limit_exceeded,
                       .what = fmt::format("tensor {} of shape {} makes the file larger than 2^63",
                                           shown_name(tensor.name), tensor.desc.shape.to_string()),
                       .path = path,
                       .remedy = {}});
    }
    if (!is_utf8(tensor.name)) {
      throw DataError({.code = ErrorCode::bad_name,
                       .what = fmt::format("the name {} is not UTF-8", shown_name(tensor.name)),
                       .path = path,
                       .remedy = "give the tensor a name that is text"});
    }
  }
  if (const auto* twice = find_twice(
          tensors.size(), [&](std::size_t i) -> const std::string& { return tensors[i].name; })) {
    throw DataError({.code = ErrorCode::duplicate,
                     .what = fmt::format("two tensors are named {}", shown_name(*twice)),
                     .path = path,
                     .remedy = "give each tensor its own name"});
  }
  for (const auto& [key, value] : metadata) {
    if (is_utf8(key) && is_utf8(value)) continue;
    throw DataError({.code = ErrorCode::bad_name,
                     .what = fmt::format("the metadata of {} is not UTF-8", shown_name(key)),
                     .path = path,
                     .remedy = "metadata is text"});
  }
  if (const auto* twice = find_twice(metadata.size(), [&](std::size_t i) -> const std::string& {
        return metadata[i].first;
      })) {
    throw DataError({.code = ErrorCode::duplicate,
                     .what = fmt::format("two metadata entries are named {}", shown_name(*twice)),
                     .path = path,
                     .remedy = {}});
  }
  return total;
}

void expect_one_tensor(std::span<const TensorInfo> tensors, const std::string& path) {
  if (tensors.size() == 1) return;
  throw DataError(
      {.code = ErrorCode::unsupported,
       .what = fmt::format("this kind of file holds one tensor, not {}", tensors.size()),
       .path = path,
       .remedy = "write to a .safetensors file or a folder, or choose one tensor"});
}

Result<void> expect_not_empty(const InputFile& file) {
  if (file.size() != 0) return {};
  return Error{.code = ErrorCode::truncated,
               .what = "the file is empty",
               .path = file.path(),
               .remedy = "copy or download it again; the disk may have been full"};
}

std::string_view file_stem(std::string_view path) noexcept {
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? path : path.substr(0, dot);
}

}  // namespace offramp
