// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"
#include "codec/tiles/tiling.hpp"

#include <offramp/codec/stage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp::tiles {

inline constexpr std::size_t header_size = 32;
inline constexpr std::uint32_t uniform_flag = 1;

/// Bodies begin at a multiple of this in a chunk: a cache line of a GPU.
inline constexpr std::size_t bodies_alignment = 128;

/// Ends in the directories count units of `section_alignment` in 32 bits.
inline constexpr std::uint64_t max_sections_size = 0xffff'ffffull * section_alignment;

/// The header's fields (spec.md, Layout).
struct Header {
  std::uint32_t tiles{};
  bool uniform{};
  std::uint64_t bodies_size{};
  std::uint64_t heap_size{};
  TileMode mode{};
};

void write_header(const Header& header, std::byte* to) noexcept;

/// Nothing where flags or reserved bytes hold what no encoder writes. `from` has `header_size`.
[[nodiscard]] std::optional<Header> read_header(const std::byte* from) noexcept;

/// Offsets of the sections in a coded chunk. For sizes within `max_sections_size`.
struct Layout {
  std::uint64_t heap_ends{};
  std::uint64_t bodies{};
  std::uint64_t heap{};
  std::uint64_t body_ends{};
  std::uint64_t modes{};
  std::uint64_t size{};

  [[nodiscard]] static Layout of(const Header& header) noexcept;
};

/// A tile's size in `raw_mode`, the most that it may take.
[[nodiscard]] constexpr std::size_t raw_size(DType dtype, TileExtent extent) noexcept {
  return (extent.values * size_of(dtype) + section_alignment - 1) / section_alignment *
         section_alignment;
}

/// Size of all tiles in `raw_mode`, or nothing where the directories cannot count it.
[[nodiscard]] std::optional<std::uint64_t> total_raw_size(const TensorDesc& desc,
                                                          const Tiling& tiling) noexcept;

/// Scratch is cut into pieces at multiples of this; the sizing calls add what aligning may skip.
inline constexpr std::size_t scratch_alignment = 64;

[[nodiscard]] inline std::byte* align_scratch(std::byte* scratch) noexcept {
  const auto over = reinterpret_cast<std::uintptr_t>(scratch) % scratch_alignment;
  return over == 0 ? scratch : scratch + (scratch_alignment - over);
}

/// The functions of a stage row, over one tile code. Arguments are already checked
/// (codec/stage_checks.hpp).
[[nodiscard]] std::size_t max_encoded_size(const TensorDesc& desc);
[[nodiscard]] std::size_t encode_scratch_size(const TileCoder& coder, const TensorDesc& desc,
                                              std::size_t workers);
[[nodiscard]] std::size_t decode_scratch_size(const TileCoder& coder, const TensorDesc& desc,
                                              std::size_t workers);
std::size_t encode_chunk(const TileCoder& coder, const EncodeArgs& args);
Result<void> decode_chunk(const TileCoder& coder, const DecodeArgs& args);

}  // namespace offramp::tiles
