// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

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

/// Whether a tile can have that extent. A tile decoder refuses any other.
[[nodiscard]] constexpr bool is_sound(TileExtent extent) noexcept {
  return extent.rows >= 1 && extent.rows <= tile_rows && extent.width >= 1 &&
         extent.width <= tile_width && extent.values <= extent.rows * extent.width &&
         extent.values > (extent.rows - 1) * extent.width;
}

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

/// Where a tile's values lie, in their row-major order: in lines of `tile_width` values, each
/// without gaps (the last may be shorter), at a pitch. The rows of a full-width tile are lines, so
/// that it is coded where it lies in a wider matrix; of any tile without gaps, lines are at their
/// own size.
template <class Byte>
struct LinesOf {
  Byte* first{};
  std::size_t pitch{};  ///< bytes, a multiple of the size of a value

  [[nodiscard]] static constexpr LinesOf without_gaps(Byte* values,
                                                      std::size_t elem_size) noexcept {
    return {values, tile_width * elem_size};
  }
  [[nodiscard]] constexpr bool has_gaps(std::size_t elem_size) const noexcept {
    return pitch != tile_width * elem_size;
  }

  /// Value number `k`. The others of its line follow, and where there are no gaps all others.
  [[nodiscard]] constexpr Byte* at(std::size_t k, std::size_t elem_size) const noexcept {
    return first + k / tile_width * pitch + k % tile_width * elem_size;
  }

  /// The lines from value number `k` on, a multiple of `tile_width`.
  [[nodiscard]] constexpr LinesOf from(std::size_t k) const noexcept {
    return {first + k / tile_width * pitch, pitch};
  }

  constexpr operator LinesOf<const Byte>() const noexcept  // NOLINT: as of a pointer
      requires(!std::is_const_v<Byte>) {
    return {first, pitch};
  }
};
using Lines = LinesOf<std::byte>;
using ConstLines = LinesOf<const std::byte>;

/// Calls f(k, size) for each run of values without gaps: `size` values from number `k` on.
template <class Byte, class F>
constexpr void for_each_run(LinesOf<Byte> values, std::size_t n, std::size_t elem_size, F&& f) {
  if (!values.has_gaps(elem_size)) return f(std::size_t{0}, n);
  for (std::size_t k = 0; k < n; k += tile_width) {
    f(k, n - k < tile_width ? n - k : std::size_t{tile_width});
  }
}

/// The functions of one tile code.
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

  /// The mode that most tiles of that dtype get. Nothing but speed depends on it.
  TileMode (*usual_mode)(DType dtype){};

  /// Codes the tile at `values` (with `read_slack` readable bytes behind the last) to `body` and
  /// `heap`. Lines may have gaps where rows are `tile_width` wide. Never makes a body and heap
  /// larger together than `raw_mode` would: it falls back to that.
  CodedTile (*encode)(DType dtype, TileExtent extent, ConstLines values, std::byte* body,
                      std::byte* heap, std::byte* scratch){};

  /// Restores exactly `extent.values` values; writes nothing outside them, nor in gaps (which there
  /// may be as for `encode`). The spans are untrusted. False where they do not hold a tile of that
  /// mode and extent.
  bool (*decode)(DType dtype, TileExtent extent, TileMode mode, std::span<const std::byte> body,
                 std::span<const std::byte> heap, Lines values, std::byte* scratch){};
};

/// The coders of the stages built on tiles.
const TileCoder& exact_tile_coder() noexcept;
const TileCoder& exact_dense_tile_coder() noexcept;

}  // namespace offramp::tiles
