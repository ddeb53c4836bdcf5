// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The numbers of docs/format.md.
namespace offramp::layout {

using Magic = std::array<unsigned char, 8>;
inline constexpr Magic file_magic{0x89, 'O', 'F', 'R', '\r', '\n', 0x1a, '\n'};
inline constexpr Magic record_magic{0xf0, 'O', 'F', 'R', 'r', 'e', 'c', '\n'};
inline constexpr Magic footer_magic{0xf0, 'O', 'F', 'R', 'e', 'n', 'd', '\n'};

inline constexpr std::size_t file_header_size = 16;
inline constexpr std::size_t record_prefix_size = 48;  // what all kinds share
inline constexpr std::size_t part_fields_size = 28;    // behind it, before the extents
inline constexpr std::size_t footer_size = 32;
inline constexpr std::size_t payload_alignment = 64;

enum class Kind : std::uint16_t { part = 1, metadata = 2, index = 3 };

inline constexpr std::uint16_t flag_whole = 1;  // of a part's record
inline constexpr std::uint8_t index_whole = 1;  // of a part in the index
inline constexpr std::uint8_t index_same_tensor = 2;

}  // namespace offramp::layout
