// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_positions.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact::block {

/// Bitmap, or Elias-Fano with the smallest number of low bits that is cheapest.
[[nodiscard]] OFFRAMP_DEVICE inline Positions with_best_code(Positions positions) {
  Positions best = positions;
  best.code = PositionCode::bitmap;
  positions.code = PositionCode::elias_fano;
  for (std::uint32_t l = 1; l <= max_low_bits; ++l) {
    positions.low_bits = l;
    if (positions.code_size() < best.code_size()) best = positions;
  }
  return best;
}

template <class Word, class B>
OFFRAMP_DEVICE Positions choose_positions_of(B& block, const ConstRows& values, Extent extent,
                                             const Work& work) {
  RowShared& rows = work.shared->rows;
  const RowDivider divider(extent.width);
  const std::uint32_t row_count = div_up(extent.n, extent.width);
  const auto value_at = [&](std::uint32_t k) { return load<Word>(values.at<Word>(k)); };

  const std::uint32_t dropped = sum(block, row_count, [&](std::uint32_t r) {
    Word any = 0;
    for (std::uint32_t c = 0; c < row_size(extent, r); ++c)
      any = static_cast<Word>(any | value_at(r * extent.width + c));
    rows.is_kept[r] = any != 0;
    return any != 0 ? 0 : row_size(extent, r);
  });
  Positions positions;
  positions.rows_dropped = dropped >= min_dropped_values && dropped < extent.n;
  if (!positions.rows_dropped) {
    block.for_each(row_count, [&](std::uint32_t r) { rows.is_kept[r] = 1; });
  }
  positions.kept_rows = rank_rows(block, row_count, rows);
  positions.among = positions.rows_dropped ? extent.n - dropped : extent.n;

  // Rows that are dropped have no values to be found here.
  const auto count = [&](std::uint32_t i) {
    std::uint32_t found = 0;
    for (std::uint32_t k = 8 * i; k < lesser(8 * i + 8, extent.n); ++k) found += value_at(k) != 0;
    return found;
  };
  const auto emit = [&](std::uint32_t i, std::uint32_t before) {
    for (std::uint32_t k = 8 * i; k < lesser(8 * i + 8, extent.n); ++k) {
      if (value_at(k) == 0) continue;
      const std::uint32_t place = rows.rank[divider.row(k)] * extent.width + divider.column(k);
      work.positions[before++] = static_cast<std::uint16_t>(place);
    }
  };
  positions.count = block.scan(div_up(extent.n, 8), count, emit);
  if (8 * (positions.among - positions.count) >= positions.among) {
    if (positions.count != 0) positions = with_best_code(positions);
  } else {
    positions.count = positions.rows_dropped ? positions.among : 0;
  }
  return positions;
}

/// Finds what a sparse tile keeps and moves it to `work.kept`; count is 0 where the tile is not
/// sparse enough for it. Leaves the rows in shared memory and the positions in `work`.
template <class B>
OFFRAMP_DEVICE Positions choose_positions(B& block, const ConstRows& values, Extent extent,
                                          const Work& work) {
  Positions positions;
  visit_word(work.elem_size, [&]<class Word>(Word) {
    positions = choose_positions_of<Word>(block, values, extent, work);
    const PlaceInTile place(positions, work, extent.width);
    block.for_each(positions.count, [&](std::uint32_t i) {
      store(work.kept + i * sizeof(Word), load<Word>(values.at<Word>(place(i))));
    });
  });
  return positions;
}

/// `bits` bits, of which those at `place(i)` for i < count are set. The streams are used for it.
template <class B, class Place>
OFFRAMP_DEVICE void write_bits(B& block, std::uint32_t bits, std::uint32_t count,
                               const Place& place, const Work& work, std::uint8_t* to) {
  std::uint8_t* const flags = work.stream[0];
  zero(block, flags, 0, bits);
  block.for_each(count, [&](std::uint32_t i) { flags[place(i)] = 1; });
  pack_flags(block, flags, bits, to);
}

template <class B>
OFFRAMP_DEVICE void write_elias_fano(B& block, const Positions& positions, const Work& work,
                                     std::uint8_t* to) {
  const std::uint32_t l = positions.low_bits, low_bits = positions.count * l;
  block.for_each(positions.low_size(), [&](std::uint32_t b) {
    std::uint32_t i = 8 * b / l, bit = 8 * b % l, byte = 0;
    for (std::uint32_t j = 0; j < lesser(8, low_bits - 8 * b); ++j) {
      byte |= (work.positions[i] >> bit & 1u) << j;
      if (++bit == l) ++i, bit = 0;
    }
    to[b] = static_cast<std::uint8_t>(byte);
  });
  write_bits(
      block, positions.high_bits(), positions.count,
      [&](std::uint32_t i) { return (std::uint32_t{work.positions[i]} >> l) + i; }, work,
      to + positions.low_size());
}

/// Writes `positions_size` bytes for what `choose_positions` found.
template <class B>
OFFRAMP_DEVICE void write_positions(B& block, const Positions& positions, Extent extent,
                                    const Work& work, std::uint8_t* body) {
  const std::uint32_t row_count = div_up(extent.n, extent.width);
  const RowShared& rows = work.shared->rows;
  const std::uint32_t flags =
      static_cast<std::uint32_t>(positions.code) | (positions.rows_dropped ? dropped_flag : 0);
  block.single([&] {
    store(body, flags | positions.low_bits << 8 | positions.kept_rows << 16);
    store(body + 4, positions.count);
    store(body + 8, std::uint64_t{});
  });
  std::uint8_t* at = body + positions_header_size;
  if (positions.rows_dropped) {
    block.for_each(row_bits_size(row_count), [&](std::uint32_t b) {
      std::uint32_t byte = 0;
      for (std::uint32_t r = 8 * b; r < lesser(8 * b + 8, row_count); ++r) {
        byte |= std::uint32_t{rows.is_kept[r]} << (r - 8 * b);
      }
      at[b] = static_cast<std::uint8_t>(byte);
    });
    at += row_bits_size(row_count);
  }
  if (positions.code == PositionCode::bitmap) {
    write_bits(
        block, positions.among, positions.count,
        [&](std::uint32_t i) { return std::uint32_t{work.positions[i]}; }, work, at);
  } else if (positions.code == PositionCode::elias_fano) {
    write_elias_fano(block, positions, work, at);
  }
  zero(block, at, positions.code_size(), padded32(positions.code_size()));
}

}  // namespace offramp::exact::block
