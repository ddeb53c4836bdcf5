// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"
#include "core/bytes.hpp"

#include <cstddef>
#include <cstdint>

// The layout of spec.md as numbers.
namespace offramp::exact_dense {

using tiles::TileExtent;

inline constexpr tiles::TileMode plain_mode = 16;
inline constexpr tiles::TileMode trimmed_mode = 17;
inline constexpr tiles::TileMode sparse_mode = 18;

inline constexpr std::uint32_t chunk_rows = 16;
inline constexpr std::uint32_t max_lanes = 32;
/// Words are kept in rows of this many values, whatever the tile's width.
inline constexpr std::uint32_t pitch = tiles::tile_width;

/// Bits of a rest field that lie in the word itself.
inline constexpr unsigned core_bits = 6;
inline constexpr std::size_t heap_header_size = 8;

/// Forms of the side data (bits 0-1), and what may be added to them.
inline constexpr std::uint8_t shared_form = 0;
inline constexpr std::uint8_t tops_form = 1;
inline constexpr std::uint8_t classes_form = 2;
inline constexpr std::uint8_t form_mask = 3;
inline constexpr std::uint8_t wide_tops_flag = 4;
inline constexpr std::uint8_t changes_flag = 8;

[[nodiscard]] constexpr std::uint32_t lanes_of(TileExtent extent) noexcept {
  return (extent.width + 1) / 2;
}

/// Lanes that have a value in step (row, half).
[[nodiscard]] constexpr std::uint32_t active_lanes(TileExtent extent, std::uint32_t row,
                                                   std::uint32_t half) noexcept {
  const std::uint32_t left = extent.values - row * extent.width;
  const std::uint32_t in_row = left < extent.width ? left : extent.width;
  return (in_row + 1 - half) / 2;
}

/// How the rest field of `bits` bits is cut into core, subtail and tail bytes.
struct RestShape {
  unsigned core{};
  unsigned subtail{};
  unsigned tail_bytes{};
};

[[nodiscard]] constexpr RestShape rest_shape(unsigned bits) noexcept {
  if (bits <= core_bits) return {.core = bits};
  return {core_bits, (bits - core_bits) % 8, (bits - core_bits) / 8};
}

/// Lane words that a field of `bits` (below 8) takes in a chunk of `rows`.
[[nodiscard]] constexpr std::uint32_t field_words(std::uint32_t rows, unsigned bits) noexcept {
  std::uint32_t words = 0;
  for (std::uint32_t p = 4; p > 0; p /= 2) {
    if ((bits & p) != 0) words += (rows * p + 15) / 16;
  }
  return words;
}

/// Lane words of the whole tile, a lane.
[[nodiscard]] constexpr std::uint32_t rest_words(std::uint32_t rows, RestShape shape) noexcept {
  const std::uint32_t last = rows % chunk_rows;
  return rows / chunk_rows *
             (field_words(chunk_rows, shape.core) + field_words(chunk_rows, shape.subtail)) +
         field_words(last, shape.core) + field_words(last, shape.subtail);
}

/// The body of modes 16 and 17.
[[nodiscard]] constexpr std::size_t rest_body_size(TileExtent extent, RestShape shape) noexcept {
  const std::size_t n = rest_words(extent.rows, shape);
  const std::size_t lanes = lanes_of(extent);
  const std::size_t words = n < 2 ? n * lanes * 4 : (n - 2) * lanes * 4 + round_up(lanes * 3, 4);
  return round_up(words + round_up(std::size_t{extent.values} * shape.tail_bytes, 4),
                  tiles::section_alignment);
}

[[nodiscard]] constexpr std::size_t side_size(TileExtent extent, std::uint8_t form) noexcept {
  const std::size_t nibbles = (extent.width + 1) / 2;
  std::size_t size = std::size_t{5} * ((lanes_of(extent) + 7) / 8);
  if ((form & form_mask) != shared_form)
    size += (form & wide_tops_flag) != 0 ? extent.width : nibbles;
  if ((form & form_mask) == classes_form) size += nibbles;
  if ((form & changes_flag) != 0) size += (extent.width + 7) / 8;
  return round_up(size, 4);
}

inline constexpr std::size_t max_rest_words =
    tiles::tile_rows / chunk_rows *
    (field_words(chunk_rows, core_bits) + field_words(chunk_rows, 7)) * max_lanes;

/// A value takes at most state_bits and an escape's 11 bits; 64 words are slack for whole vectors.
inline constexpr std::size_t max_stream_words =
    (std::size_t{tiles::tile_rows} * 2 * 21 + 10) / 32 * max_lanes + max_lanes + 64;

}  // namespace offramp::exact_dense
