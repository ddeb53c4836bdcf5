// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::tiles {

/// A full tile: 256 rows of 64 channels, the block of the exact codecs (spec.md, Geometry).
inline constexpr std::uint32_t tile_rows = 256;
inline constexpr std::uint32_t tile_width = 64;
inline constexpr std::uint32_t tile_values = tile_rows * tile_width;

/// Bodies and heap pieces are multiples of this, so that a device loads them 16 bytes at a time.
inline constexpr std::size_t section_alignment = 16;

/// Bytes that may be read (never used) behind the values given to a tile encoder.
inline constexpr std::size_t read_slack = 64;

/// Extent of one tile. All rows are `width` long but the last, which may be shorter.
struct TileExtent {
  std::uint32_t rows{};    ///< 1 to 256
  std::uint32_t width{};   ///< 1 to 64
  std::uint32_t values{};  ///< (rows - 1) * width < values <= rows * width

  [[nodiscard]] constexpr bool is_full() const noexcept { return values == tile_values; }
};

/// How a tile was coded. The numbers are part of the format: 0 to 15 belong to `exact`, 16 to 31 to
/// `exact-dense`, which may use the former too.
using TileMode = std::uint8_t;

/// The values as they are, padded to 16 bytes with zeros, in the body; no heap.
inline constexpr TileMode raw_mode = 0;

/// What a tile encoder made. Both sizes are multiples of `section_alignment`.
struct CodedTile {
  TileMode mode{};
  std::uint32_t body_size{};  ///< the nominal size for the modes that ordinary data uses
  std::uint32_t heap_size{};  ///< what varies from tile to tile
};

/// The functions of one tile code. Values come row-major without gaps, as the tensor's own bytes.
///
/// A body and a heap piece are two regions because bodies of equal size have places known
/// beforehand: a device writes them at once and moves only the small heap pieces into order.
struct TileCoder {
  /// Upper bounds for one tile of that dtype, multiples of `section_alignment`.
  std::size_t (*max_body_size)(DType dtype){};
  std::size_t (*max_heap_size)(DType dtype){};
  /// Bytes of scratch for one call of either function, 64-byte aligned.
  std::size_t (*scratch_size)(DType dtype){};

  /// The body size that `mode` gives a tile of that extent, where it is a function of these alone;
  /// else 0.
  std::size_t (*nominal_body_size)(DType dtype, TileExtent extent, TileMode mode){};

  /// Codes the tile at `values` (with `read_slack` readable bytes behind it) to `body` and `heap`.
  /// Never makes a body and heap larger together than `raw_mode` would: it falls back to that.
  CodedTile (*encode)(DType dtype, TileExtent extent, const std::byte* values, std::byte* body,
                      std::byte* heap, std::byte* scratch){};

  /// Restores exactly `extent.values` values; writes nothing outside them. The spans are untrusted.
  /// False where they do not hold a tile of that mode and extent.
  bool (*decode)(DType dtype, TileExtent extent, TileMode mode, std::span<const std::byte> body,
                 std::span<const std::byte> heap, std::byte* values, std::byte* scratch){};
};

/// The coders of the stages built on tiles.
const TileCoder& exact_tile_coder() noexcept;
const TileCoder& exact_dense_tile_coder() noexcept;

}  // namespace offramp::tiles
