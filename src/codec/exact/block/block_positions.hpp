// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_planes.hpp"
#include "codec/exact/block/block_work.hpp"

#include <cstddef>
#include <cstdint>

// Which values of a sparse tile are kept (spec.md, Sparse): what both directions know of it.

namespace offramp::exact::block {

enum class PositionCode : std::uint8_t { all = 0, bitmap = 1, elias_fano = 2 };

inline constexpr std::uint32_t positions_header_size = 16;
inline constexpr std::uint32_t dropped_flag = 4;
inline constexpr std::uint32_t max_low_bits = 13;
inline constexpr std::uint32_t min_dropped_values = 256;

struct Positions {
  PositionCode code{PositionCode::all};
  bool rows_dropped{};
  std::uint32_t low_bits{};
  std::uint32_t kept_rows{};
  std::uint32_t among{};  ///< values of the kept rows
  std::uint32_t count{};  ///< how many of these follow; 0: the tile is no sparse one

  [[nodiscard]] constexpr bool by_channel() const { return code == PositionCode::all; }

  [[nodiscard]] constexpr std::uint32_t low_size() const { return div_up(count * low_bits, 8); }
  [[nodiscard]] constexpr std::uint32_t high_bits() const {
    return count + ((among - 1) >> low_bits) + 1;
  }
  [[nodiscard]] constexpr std::uint32_t bitmap_size() const { return div_up(among, 8); }
  [[nodiscard]] constexpr std::uint32_t elias_fano_size() const {
    return low_size() + div_up(high_bits(), 8);
  }
  [[nodiscard]] constexpr std::uint32_t code_size() const {
    switch (code) {
      case PositionCode::all:
        return 0;
      case PositionCode::bitmap:
        return bitmap_size();
      case PositionCode::elias_fano:
        return elias_fano_size();
    }
    return 0;
  }
};

[[nodiscard]] constexpr std::uint32_t padded32(std::uint32_t size) {
  return static_cast<std::uint32_t>(padded(size));
}

[[nodiscard]] constexpr std::uint32_t row_bits_size(std::uint32_t rows) {
  return padded32(div_up(rows, 8));
}

/// Of header, row bits and positions.
[[nodiscard]] constexpr std::uint32_t positions_size(const Positions& positions,
                                                     std::uint32_t rows) {
  return positions_header_size + (positions.rows_dropped ? row_bits_size(rows) : 0) +
         padded32(positions.code_size());
}

/// Values of a row: the last may be short.
[[nodiscard]] constexpr std::uint32_t row_size(Extent extent, std::uint32_t row) {
  return lesser(extent.width, extent.n - row * extent.width);
}

/// Ranks the rows that `rows.is_kept` marks. Returns how many are kept.
template <class B>
OFFRAMP_DEVICE std::uint32_t rank_rows(B& block, std::uint32_t row_count, RowShared& rows) {
  return block.scan(
      row_count, [&](std::uint32_t r) { return std::uint32_t{rows.is_kept[r]}; },
      [&](std::uint32_t r, std::uint32_t before) {
        rows.rank[r] = static_cast<std::uint16_t>(before);
        if (rows.is_kept[r]) rows.kept[before] = static_cast<std::uint16_t>(r);
      });
}

/// The tile's value that is value i of those that follow.
struct PlaceInTile {
  const std::uint16_t* positions{};  ///< among the kept rows' values
  const std::uint16_t* kept_rows{};
  RowDivider divider{1};
  bool is_all{};

  OFFRAMP_DEVICE PlaceInTile(const Positions& coded, const Work& work, std::uint32_t width)
      : positions(work.positions),
        kept_rows(work.shared->rows.kept),
        divider(width),
        is_all(coded.by_channel()) {}

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t operator()(std::uint32_t i) const {
    const std::uint32_t k = is_all ? i : positions[i];
    return kept_rows[divider.row(k)] * divider.width() + divider.column(k);
  }
};

}  // namespace offramp::exact::block
