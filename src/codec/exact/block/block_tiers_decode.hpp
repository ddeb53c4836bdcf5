// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_tiers.hpp"

#include <cstddef>
#include <cstdint>

// Tiers back to a plane, from bytes that are not trusted. All pieces are taken at once, each from
// where `starts` says; that this is where the piece before ends is checked too, so no piece can be
// taken from anywhere else in the end.

namespace offramp::exact::block {

/// The coded side of a plane; all of it may hold anything.
struct CodedTiers {
  const std::uint8_t* starts{};  ///< u16 for each piece, the first not used here
  const std::uint8_t* codes{};   ///< tier 1, without padding
  const std::uint8_t* heap{};    ///< from the first piece to the end of the tile's heap
  std::uint32_t heap_size{};
};

[[nodiscard]] OFFRAMP_DEVICE inline LaneCodes load_lane(const std::uint8_t* codes) {
  return {load<std::uint64_t>(codes), load<std::uint64_t>(codes + 8)};
}

/// Codes of a group of later tiers; 0 groups behind the piece's last.
struct GroupReader {
  const TierTable* table{};
  const std::uint8_t* heap{};
  int tier{};

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t size(std::uint32_t i) const {
    const std::uint32_t n = table->left[tier - 1][i / piece_groups], t = 8 * (i % piece_groups);
    return t < n ? lesser(8, n - t) : 0;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t codes(std::uint32_t i) const {
    const std::uint8_t* from = heap + table->at[tier][i / piece_groups] + 2 * (i % piece_groups);
    return static_cast<std::uint32_t>(load_some(from, codes_size(tier, size(i))));
  }
};

[[nodiscard]] OFFRAMP_DEVICE inline std::uint32_t first_tier_codes(const CodedTiers& coded,
                                                                   const TierItems& items,
                                                                   std::uint32_t i) {
  return static_cast<std::uint32_t>(
      load_some(coded.codes + items.codes_at(i), codes_size(1, items.size(i))));
}

/// Turns counts before each piece, and of all, to counts of each piece.
OFFRAMP_DEVICE inline void set_left(TierTable& table, int tier, std::uint32_t p,
                                    std::uint32_t pieces, std::uint32_t total) {
  const std::uint32_t next = p + 1 < pieces ? table.before[tier][p + 1] : total;
  table.left[tier][p] = next - table.before[tier][p];
}

/// Whether the unused bits of a tier's last codes are 0, and where the next tier begins.
OFFRAMP_DEVICE inline bool take_codes(TierTable& table, const CodedTiers& coded, int tier,
                                      std::uint32_t p) {
  const std::uint32_t n = table.left[tier - 1][p], at = table.at[tier][p];
  const std::uint32_t size = codes_size(tier, n);
  if (at > coded.heap_size || coded.heap_size - at < size) return false;
  table.at[tier + 1][p] = at + size;
  if (n % 8 == 0) return true;
  const GroupReader reader{&table, coded.heap, tier};
  return (reader.codes(p * piece_groups + n / 8) & unused_bits(tier, n % 8)) == 0;
}

/// The end of a piece: its raw bytes and padding, and that the next one begins there.
OFFRAMP_DEVICE inline bool end_piece(TierTable& table, const CodedTiers& coded, std::uint32_t p,
                                     std::uint32_t pieces) {
  const std::uint32_t at = table.at[5][p], raw = table.left[4][p];
  if (coded.heap_size - at < raw) return false;
  const std::uint32_t end = div_up(at + raw, 4) * 4;
  if (coded.heap_size < end || !is_padding(coded.heap, at + raw, end)) return false;
  if (p + 1 < pieces) return end == table.at[2][p + 1];
  return round_up(end, section_alignment) == coded.heap_size &&
         is_padding(coded.heap, end, coded.heap_size);
}

/// Fills the table. False where starts, codes and heap do not fit together.
template <class B>
OFFRAMP_DEVICE bool read_tiers(B& block, const CodedTiers& coded, const TierJob& job) {
  TierTable& table = *job.table;
  const TierItems items{job.n};
  const std::uint32_t pieces = piece_count(job.n);

  std::uint32_t total = block.scan(
      items.count(),
      [&](std::uint32_t i) {
        if (!items.is_lane(i)) return count_escapes(first_tier_codes(coded, items, i));
        const LaneCodes lane = load_lane(coded.codes + items.codes_at(i));
        return count_escapes(lane.low) + count_escapes(lane.high);
      },
      [&](std::uint32_t i, std::uint32_t before) {
        const std::uint32_t k = items.first(i);
        if (k % piece_size == 0) table.before[1][k / piece_size] = before;
      });
  const bool has_start = all_of(block, pieces, [&](std::uint32_t p) {
    const std::uint32_t last = items.count() - 1;  // may end in unused codes
    if (!items.is_lane(last) &&
        (first_tier_codes(coded, items, last) & unused_bits(1, items.size(last))) != 0) {
      return false;
    }
    set_left(table, 1, p, pieces, total);
    table.at[2][p] = p == 0 ? 0 : 4u * load<std::uint16_t>(coded.starts + 2 * p);
    return take_codes(table, coded, 2, p);
  });
  if (!has_start) return false;

  for (int tier = 2; tier <= 4; ++tier) {
    const GroupReader reader{&table, coded.heap, tier};
    total = block.scan(
        pieces * piece_groups,
        [&](std::uint32_t i) { return reader.size(i) == 0 ? 0 : count_escapes(reader.codes(i)); },
        [&](std::uint32_t i, std::uint32_t before) {
          if (i % piece_groups == 0) table.before[tier][i / piece_groups] = before;
        });
    const bool fits = all_of(block, pieces, [&](std::uint32_t p) {
      set_left(table, tier, p, pieces, total);
      return tier == 4 || take_codes(table, coded, tier + 1, p);
    });
    if (!fits) return false;
  }
  return all_of(block, pieces, [&](std::uint32_t p) { return end_piece(table, coded, p, pieces); });
}

/// v of tier 2, 3 or 4 to its stream, from the next tier's or the raw bytes.
template <class B>
OFFRAMP_DEVICE void decode_later_tier(B& block, const CodedTiers& coded, const TierJob& job,
                                      int tier) {
  const TierTable& table = *job.table;
  const GroupReader reader{&table, coded.heap, tier};
  const std::uint8_t* from = job.stream[1 - tier % 2];
  std::uint8_t* const to = job.stream[tier % 2];
  block.scan(
      piece_count(job.n) * piece_groups,
      [&](std::uint32_t i) { return reader.size(i) == 0 ? 0 : count_escapes(reader.codes(i)); },
      [&](std::uint32_t i, std::uint32_t before) {
        const std::uint32_t size = reader.size(i), piece = i / piece_groups;
        if (size == 0) return;
        const std::uint8_t* next =
            (tier == 4 ? coded.heap + table.at[5][piece] : from + piece * piece_size) +
            (before - table.before[tier][piece]);
        store_group(to + 8 * i, decode_group(tier, reader.codes(i), size, next));
      });
}

template <class B>
OFFRAMP_DEVICE void decode_first_tier(B& block, const CodedTiers& coded, const TierJob& job) {
  const TierItems items{job.n};
  block.scan(
      items.count(),
      [&](std::uint32_t i) {
        if (!items.is_lane(i)) return count_escapes(first_tier_codes(coded, items, i));
        const LaneCodes lane = load_lane(coded.codes + items.codes_at(i));
        return count_escapes(lane.low) + count_escapes(lane.high);
      },
      [&](std::uint32_t i, std::uint32_t before) {
        const std::uint32_t k = items.first(i), piece = k / piece_size;
        const std::uint8_t* next =
            job.stream[0] + piece * piece_size + (before - job.table->before[1][piece]);
        const auto put = [&](std::uint32_t first, std::uint32_t codes, std::uint32_t size) {
          const std::uint64_t v = decode_group(1, codes, size, next);
          store_group(job.plane + first, mirror(job.bases.of_group(first), v));
        };
        if (!items.is_lane(i)) return put(k, first_tier_codes(coded, items, i), items.size(i));
        const LaneCodes lane = load_lane(coded.codes + items.codes_at(i));
        for (std::uint32_t row = 0; row < 8; ++row) put(k + 64 * row, lane.of_row(row), 8);
      });
}

/// Restores the plane. False where the tiers contradict themselves.
template <class B>
OFFRAMP_DEVICE bool decode_tiers(B& block, const CodedTiers& coded, const TierJob& job) {
  if (!read_tiers(block, coded, job)) return false;
  for (int tier = 4; tier >= 2; --tier) decode_later_tier(block, coded, job, tier);
  decode_first_tier(block, coded, job);
  return true;
}

}  // namespace offramp::exact::block
