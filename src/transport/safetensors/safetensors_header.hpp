// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// The 8 bytes at a file's front hold the header's size; the JSON header follows, then the data.
inline constexpr std::size_t safetensors_prefix_size = 8;

/// The format's limit on the header, as the reference library has it.
inline constexpr std::uint64_t max_safetensors_header_size = 100'000'000;

/// A header whose offsets cover the file's data with no gap and no overlap.
struct SafetensorsHeader {
  std::vector<TensorInfo> tensors{};     ///< by offset in the data
  std::vector<std::uint64_t> offsets{};  ///< of each tensor, from the front of the file
  Metadata metadata{};
};

/// The dtype of that name in safetensors ("BF16"), or nothing; and its reverse.
[[nodiscard]] std::optional<DType> dtype_from_safetensors(std::string_view name) noexcept;
[[nodiscard]] std::string_view safetensors_name_of(DType dtype) noexcept;

/// Size of the JSON header, from the front of a file of `file_size` bytes. `front` holds the first
/// `safetensors_prefix_size` bytes, or the whole of a shorter file.
Result<std::uint64_t> read_safetensors_header_size(std::span<const std::byte> front,
                                                   std::uint64_t file_size);

/// Reads the JSON header of a file of `file_size` bytes. Refuses whatever two readers could
/// understand differently: names or keys given twice, unknown keys, gaps, overlaps.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> json,
                                                   std::uint64_t file_size);

/// The front of a file that holds these tensors in this order: prefix, JSON, spaces to a multiple
/// of 8; the same bytes as the reference library's. `check_tensors` holds for the tensors.
[[nodiscard]] std::string make_safetensors_header(std::span<const TensorInfo> tensors,
                                                  const Metadata& metadata);

}  // namespace offramp
