// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// Most bytes of a file that its header may take: what a reader needs to hold in memory. NumPy
/// itself refuses to read a header above 10,000 bytes unasked.
inline constexpr std::size_t max_npy_header_size = 64 * 1024;

struct NpyHeader {
  TensorDesc desc{};
  std::uint64_t data{};  ///< where the elements begin in the file
};

/// Reads the header of an .npy file of `file_size` bytes, format 1.0 to 3.0. `front` holds its
/// first `max_npy_header_size` bytes, or the whole of a shorter file.
///
/// Accepts little-endian, C-order arrays of numbers and booleans that fill the file exactly; each
/// other kind is refused with its own message.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> front, std::uint64_t file_size);

/// NumPy's name of the dtype ("<f4", "|b1"), or nothing where it has none (bf16, fp8).
[[nodiscard]] std::optional<std::string_view> npy_name_of(DType dtype) noexcept;

/// The front of the file that holds this tensor: the bytes that numpy.save writes.
/// `npy_name_of` has a name for the dtype.
[[nodiscard]] std::string make_npy_header(const TensorDesc& desc);

}  // namespace offramp
