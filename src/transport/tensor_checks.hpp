// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>
#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// A name as messages show it: control bytes and bytes outside ASCII escaped, long names cut.
[[nodiscard]] std::string shown_name(std::string_view name);

/// Offset inside the tensor, in bytes, of the range that begins at `first_elem` and is `size` bytes
/// long. @throws LogicError where the range is not whole elements inside the tensor.
[[nodiscard]] std::uint64_t byte_offset_in(const TensorInfo& tensor, std::uint64_t first_elem,
                                           std::size_t size);

/// The number-th tensor. @throws LogicError where there is none.
[[nodiscard]] const TensorInfo& tensor_at(std::span<const TensorInfo> tensors, std::size_t number);

/// What every sink asks of what it is to hold: sizes that fit together in 63 bits, names in UTF-8
/// and unlike each other, metadata in UTF-8 with keys unlike each other. Returns the sum of all
/// sizes. @throws DataError, which names `path`.
std::uint64_t check_tensors(std::span<const TensorInfo> tensors, const Metadata& metadata,
                            const std::string& path);

/// For a file that holds one tensor. @throws DataError where there are none or several.
void expect_one_tensor(std::span<const TensorInfo> tensors, const std::string& path);

/// For files that begin with a header.
[[nodiscard]] Result<void> expect_not_empty(const InputFile& file);

/// The part of a path after the last '/' and before the last '.' of it.
[[nodiscard]] std::string_view file_stem(std::string_view path) noexcept;

}  // namespace offramp
