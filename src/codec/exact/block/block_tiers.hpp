// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact/block/block_bases.hpp"
#include "codec/exact/block/block_codes.hpp"

#include <cstddef>
#include <cstdint>

// Tiers of a plane (spec.md, Tiers), all pieces at once. A tier's values stand in a stream, those
// of piece p from p * piece_values on.

namespace offramp::exact::block {

inline constexpr std::uint32_t piece_size = piece_values;
inline constexpr std::uint32_t piece_groups = piece_size / 8;  ///< of 8 values

/// Counts and places by piece, in shared memory. Tiers are numbered 1 to 4; 5 are the raw bytes.
struct TierTable {
  std::uint32_t left[5][max_pieces];    ///< values that a tier sends on
  std::uint32_t before[5][max_pieces];  ///< the sum of these over the pieces before
  std::uint32_t at[6][max_pieces];      ///< where a tier's codes begin, from the first piece
  std::uint32_t end;                    ///< of the last piece
};

[[nodiscard]] constexpr std::uint32_t piece_count(std::uint32_t n) { return div_up(n, piece_size); }

/// What tiers are made from and into. `plane` and both streams are scratch.
struct TierJob {
  std::uint32_t n{};
  BaseTable bases;
  std::uint8_t* plane{};
  std::uint8_t* stream[2]{};
  TierTable* table{};

  /// v of the plane's values k to before k + size; k is a multiple of 8, and size at most 8.
  [[nodiscard]] OFFRAMP_DEVICE std::uint64_t v_of_group(std::uint32_t k, std::uint32_t size) const {
    return mirror(bases.of_group(k), load_group(plane + k, size));
  }
};

/// Fills the table from the plane. Returns the pieces' size, a multiple of 4.
template <class B>
OFFRAMP_DEVICE std::uint32_t count_tiers(B& block, const TierJob& job) {
  TierTable& table = *job.table;
  const std::uint32_t pieces = piece_count(job.n);
  for (std::uint32_t p = 0; p < pieces; ++p) {
    const std::uint32_t begin = p * piece_size, size = lesser(piece_size, job.n - begin);
    // How many of the values tiers 1 to 4 send on, 16 bits each.
    const auto left = block.reduce(
        div_up(size, 8), std::uint64_t{},
        [&](std::uint32_t i) {
          const std::uint32_t k = begin + 8 * i;
          const std::uint32_t values = lesser(8, job.n - k);
          const std::uint64_t v = job.v_of_group(k, values);
          std::uint64_t counts = 0;
          for (std::uint32_t t = 0; t < values; ++t) {
            counts += low_bytes(2 * tiers_left_by(byte_of(v, t))) & 0x0001000100010001;
          }
          return counts;
        },
        [](std::uint64_t a, std::uint64_t b) { return a + b; });
    block.single([&] {
      for (int tier = 1; tier <= 4; ++tier) {
        table.left[tier][p] = static_cast<std::uint32_t>(left >> (16 * (tier - 1)) & 0xffff);
      }
    });
  }
  const auto place = [&] {
    std::uint32_t before[5] = {}, at = 0;
    for (std::uint32_t p = 0; p < pieces; ++p) {
      for (int tier = 1; tier <= 4; ++tier) {
        table.before[tier][p] = before[tier];
        before[tier] += table.left[tier][p];
      }
      for (int tier = 2; tier <= 4; ++tier) {
        table.at[tier][p] = at;
        at += codes_size(tier, table.left[tier - 1][p]);
      }
      table.at[5][p] = at;
      at = div_up(at + table.left[4][p], 4) * 4;
    }
    table.end = at;
  };
  block.single(place);
  return table.end;
}

/// Tier 1 to `codes`, its escapes to stream 0.
template <class B>
OFFRAMP_DEVICE void encode_first_tier(B& block, const TierJob& job, std::uint8_t* codes) {
  const TierItems items{job.n};
  const auto codes_of_lane = [&](std::uint32_t k) {
    LaneCodes lane;
    for (std::uint32_t row = 0; row < 8; ++row) {
      const std::uint64_t v = job.v_of_group(k + 64 * row, 8);
      for (std::uint32_t c = 0; c < 8; ++c) lane.set(row, c, code_of(1, byte_of(v, c)));
    }
    return lane;
  };
  const auto count = [&](std::uint32_t i) {
    const std::uint32_t k = items.first(i);
    if (!items.is_lane(i)) {
      const std::uint32_t size = items.size(i);
      return count_escapes(codes_of(1, job.v_of_group(k, size), size));
    }
    const LaneCodes lane = codes_of_lane(k);
    return count_escapes(lane.low) + count_escapes(lane.high);
  };
  const auto emit = [&](std::uint32_t i, std::uint32_t before) {
    const std::uint32_t k = items.first(i), piece = k / piece_size;
    std::uint8_t* next =
        job.stream[0] + piece * piece_size + (before - job.table->before[1][piece]);
    std::uint8_t* to = codes + items.codes_at(i);
    if (!items.is_lane(i)) {
      const std::uint32_t size = items.size(i);
      const std::uint64_t v = job.v_of_group(k, size);
      const std::uint32_t tail = codes_of(1, v, size);
      store_some(to, tail, codes_size(1, size));
      for (std::uint32_t t = 0; t < size; ++t) {
        if ((tail >> 2 * t & 3) == 3) *next++ = byte_of(v, t);
      }
      return;
    }
    const LaneCodes lane = codes_of_lane(k);
    store(to, lane.low);
    store(to + 8, lane.high);
    for (std::uint32_t row = 0; row < 8; ++row) {
      const std::uint64_t v = job.v_of_group(k + 64 * row, 8);
      for (std::uint32_t c = 0; c < 8; ++c) {
        if (code_of(1, byte_of(v, c)) == 3) *next++ = byte_of(v, c);
      }
    }
  };
  block.scan(items.count(), count, emit);
}

/// Tier 2, 3 or 4 to the pieces in `heap`, its escapes to the next stream, or as raw bytes there.
template <class B>
OFFRAMP_DEVICE void encode_later_tier(B& block, const TierJob& job, int tier, std::uint8_t* heap) {
  const TierTable& table = *job.table;
  const std::uint8_t* from = job.stream[tier % 2];
  std::uint8_t* const to = job.stream[1 - tier % 2];
  const auto size_of_group = [&](std::uint32_t i) {
    const std::uint32_t n = table.left[tier - 1][i / piece_groups], t = 8 * (i % piece_groups);
    return t < n ? lesser(8, n - t) : 0;
  };
  const auto count = [&](std::uint32_t i) {
    const std::uint32_t size = size_of_group(i);
    return size == 0 ? 0 : count_escapes(codes_of(tier, load_group(from + 8 * i, size), size));
  };
  const auto emit = [&](std::uint32_t i, std::uint32_t before) {
    const std::uint32_t size = size_of_group(i), piece = i / piece_groups;
    if (size == 0) return;
    const std::uint64_t v = load_group(from + 8 * i, size);
    const std::uint32_t codes = codes_of(tier, v, size);
    store_some(heap + table.at[tier][piece] + 2 * (i % piece_groups), codes,
               codes_size(tier, size));
    std::uint8_t* next = (tier == 4 ? heap + table.at[5][piece] : to + piece * piece_size) +
                         (before - table.before[tier][piece]);
    for (std::uint32_t t = 0; t < size; ++t) {
      if ((codes >> code_shift(tier, t) & 3) == 3) *next++ = byte_of(v, t);
    }
  };
  block.scan(piece_count(job.n) * piece_groups, count, emit);
}

/// Writes tier 1 to `codes`, without padding, and the pieces to `heap`, as `count_tiers` has found.
template <class B>
OFFRAMP_DEVICE void encode_tiers(B& block, const TierJob& job, std::uint8_t* codes,
                                 std::uint8_t* heap) {
  const TierTable& table = *job.table;
  encode_first_tier(block, job, codes);
  for (int tier = 2; tier <= 4; ++tier) encode_later_tier(block, job, tier, heap);
  // Not a loop that ends where `at` is a multiple of 4: nvcc 13.0 writes 4 zeros too many where it
  // begins there, over the next piece.
  block.for_each(piece_count(job.n), [&](std::uint32_t p) {
    const std::uint32_t end = table.at[5][p] + table.left[4][p];
    for (std::uint32_t at = end; at < div_up(end, 4) * 4; ++at) heap[at] = 0;
  });
}

}  // namespace offramp::exact::block
