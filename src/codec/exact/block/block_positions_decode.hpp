// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_positions.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact::block {

/// The rows that are kept, to shared memory. False where the bits hold more, or another number.
template <class B>
OFFRAMP_DEVICE bool read_rows(B& block, const std::uint8_t* bits, Extent extent,
                              Positions& positions, RowShared& rows) {
  const std::uint32_t row_count = div_up(extent.n, extent.width);
  if (positions.rows_dropped) {
    if (row_count % 8 != 0 && bits[row_count / 8] >> (row_count % 8) != 0) return false;
    if (!is_padding(bits, div_up(row_count, 8), row_bits_size(row_count))) return false;
  }
  block.for_each(row_count, [&](std::uint32_t r) {
    const unsigned bit = positions.rows_dropped ? bits[r / 8] >> (r % 8) & 1u : 1u;
    rows.is_kept[r] = static_cast<std::uint8_t>(bit);
  });
  if (rank_rows(block, row_count, rows) != positions.kept_rows) return false;
  positions.among = sum(block, positions.kept_rows,
                        [&](std::uint32_t i) { return row_size(extent, rows.kept[i]); });
  return true;
}

/// Positions from the bits of a map, to `work`. False where it holds another number of them.
template <class B>
OFFRAMP_DEVICE bool read_bitmap(B& block, const Positions& positions, const std::uint8_t* map,
                                const Work& work) {
  const std::uint32_t n = positions.among;
  if (n % 8 != 0 && map[n / 8] >> (n % 8) != 0) return false;
  const std::uint32_t found = block.scan(
      div_up(n, 8), [&](std::uint32_t b) { return count_ones(map[b]); },
      [&](std::uint32_t b, std::uint32_t before) {
        for (std::uint32_t bits = map[b]; bits != 0; bits &= bits - 1) {
          work.positions[before++] = static_cast<std::uint16_t>(8 * b + lowest_one(bits));
        }
      });
  return found == positions.count;
}

/// The same from Elias-Fano. False where they are not the stated number, or do not rise.
template <class B>
OFFRAMP_DEVICE bool read_elias_fano(B& block, const Positions& positions,
                                    const std::uint8_t* section, const Work& work) {
  const std::uint32_t l = positions.low_bits, low_bits = positions.count * l;
  const std::uint32_t high_bits = positions.high_bits();
  const std::uint8_t* const high = section + positions.low_size();
  if (low_bits % 8 != 0 && section[low_bits / 8] >> (low_bits % 8) != 0) return false;
  if (high_bits % 8 != 0 && high[high_bits / 8] >> (high_bits % 8) != 0) return false;

  const auto low_of = [&](std::uint32_t i) {
    const std::uint32_t byte = i * l / 8;
    const std::uint64_t bits = load_some(section + byte, lesser(3, positions.low_size() - byte));
    return static_cast<std::uint32_t>(bits >> (i * l % 8)) & ((1u << l) - 1);
  };
  std::uint32_t& bad = work.shared->rows.bad;
  block.single([&] { bad = 0; });
  const std::uint32_t found = block.scan(
      div_up(high_bits, 8), [&](std::uint32_t b) { return count_ones(high[b]); },
      [&](std::uint32_t b, std::uint32_t before) {
        for (std::uint32_t bits = high[b]; bits != 0; bits &= bits - 1, ++before) {
          if (before >= positions.count) return;
          const std::uint32_t at = 8 * b + lowest_one(bits);
          const std::uint32_t place = (at - before) << l | low_of(before);
          if (place >= positions.among) block.raise(bad, 1);
          work.positions[before] = static_cast<std::uint16_t>(place);
        }
      });
  if (found != positions.count || bad != 0) return false;
  return all_of(block, found, [&](std::uint32_t i) {
    return i == 0 || work.positions[i - 1] < work.positions[i];
  });
}

/// Reads header, rows and positions. A count of 0 stands for what no encoder writes.
template <class B>
OFFRAMP_DEVICE Positions read_positions(B& block, Bytes body, Extent extent, const Work& work) {
  if (body.size < positions_header_size) return {};
  const std::uint32_t row_count = div_up(extent.n, extent.width);
  const auto fields = load<std::uint32_t>(body.data);
  const std::uint32_t flags = fields & 0xff;
  if (flags > 7 || (flags & 3) > 2 || load<std::uint64_t>(body.data + 8) != 0) return {};
  Positions positions{.code = static_cast<PositionCode>(flags & 3),
                      .rows_dropped = (flags & dropped_flag) != 0,
                      .low_bits = fields >> 8 & 0xff,
                      .kept_rows = fields >> 16};
  const bool is_elias_fano = positions.code == PositionCode::elias_fano;
  if (is_elias_fano ? positions.low_bits < 1 || positions.low_bits > max_low_bits
                    : positions.low_bits != 0) {
    return {};
  }
  std::uint32_t at = positions_header_size;
  if (positions.rows_dropped) {
    if (body.size - at < row_bits_size(row_count)) return {};
    at += row_bits_size(row_count);
  }
  const std::uint8_t* const row_bits = body.data + positions_header_size;
  if (!read_rows(block, row_bits, extent, positions, work.shared->rows)) return {};

  positions.count = load<std::uint32_t>(body.data + 4);
  if (positions.count == 0 || positions.count > positions.among) return {};
  if (positions.by_channel() && positions.count != positions.among) return {};
  if (is_elias_fano && positions.code_size() >= positions.bitmap_size()) return {};
  const Bytes section = body.from(at);
  const std::uint32_t size = positions.code_size();
  if (section.size < padded32(size)) return {};
  if (!is_padding(section.data, size, padded32(size))) return {};
  const bool is_sound = is_elias_fano ? read_elias_fano(block, positions, section.data, work)
                        : positions.code == PositionCode::bitmap
                            ? read_bitmap(block, positions, section.data, work)
                            : true;
  return is_sound ? positions : Positions{};
}

/// Puts what follows, in `work.kept`, in its place among zeros.
template <class B>
OFFRAMP_DEVICE void scatter(B& block, const Positions& positions, const Work& work,
                            const Rows& values) {
  visit_word(work.elem_size, [&]<class Word>(Word) {
    block.for_each(values.n, [&](std::uint32_t k) { store(values.at<Word>(k), Word{}); });
    const PlaceInTile place(positions, work, values.divider.width());
    block.for_each(positions.count, [&](std::uint32_t i) {
      store(values.at<Word>(place(i)), load<Word>(work.kept + i * sizeof(Word)));
    });
  });
}

}  // namespace offramp::exact::block
