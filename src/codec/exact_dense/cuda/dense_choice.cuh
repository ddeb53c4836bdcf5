// SPDX-License-Identifier: Apache-2.0
// What the encoder chooses for a full tile (spec.md, Sample to Form), by a warp: each lane for its
// two channels.
#pragma once

#include "codec/exact_dense/block/dense_block_tables.hpp"
#include "codec/exact_dense/cuda/dense_lanes.cuh"

#include <cstdint>

namespace offramp::exact_dense::gpu {

/// Costs as one dp4a each wants them: [class][4 * sign + q], of rising exponents from top - 15 + 4q
/// on.
struct CostWords {
  std::uint32_t of[class_count][8];
  std::uint32_t of_zero[class_count];
};

constexpr CostWords make_cost_words() {
  CostWords words{};
  for (std::size_t k = 0; k < class_count; ++k) {
    for (std::size_t i = 0; i < 32; ++i) {
      words.of[k][i / 4] |= std::uint32_t{class_models[k].costs[i / 16 * 16 + 15 - i % 16]}
                            << (8 * (i % 4));
    }
    words.of_zero[k] = class_models[k].costs[32];
  }
  return words;
}
__constant__ constexpr CostWords cost_words = make_cost_words();

/// The first classes, whose costs do not depend on the sign.
inline constexpr std::uint32_t symmetric_classes = 4;
constexpr bool are_symmetric() {
  for (std::size_t k = 0; k < symmetric_classes; ++k) {
    for (std::size_t d = 0; d < 16; ++d) {
      if (class_models[k].costs[d] != class_models[k].costs[16 + d]) return false;
    }
  }
  return true;
}
static_assert(are_symmetric());

/// A lane's channels, in halves.
struct LaneChoice {
  std::uint32_t tops{};
  std::uint32_t classes{};
  std::uint32_t changes{};  ///< 0x8000 where the sign is coded as a change
};

/// A tile's.
struct TileChoice {
  std::uint8_t form{};       ///< without flags
  std::uint32_t least{};     ///< top
  std::uint32_t greatest{};  ///< top
  bool varies{};             ///< no rest bit is the same in all values that were looked at
};

/// A warp's histograms: bytes by sign, sign change and exponent mod 16, of each lane's channels.
/// Four warps share 16 KiB: bits 2 to 6 of an address are the lane, 7 and 8 the exponent's bits 2
/// and 3, 9 the change, 10 the channel, 11 and 12 the warp, 13 the sign. So an address takes two
/// instructions, and no two lanes share a bank.
inline constexpr std::uint32_t counts_group = 16384;
inline constexpr std::uint32_t change_step = 512;
inline constexpr std::uint32_t channel_step = 1024;
inline constexpr std::uint32_t warp_step = 2048;
inline constexpr std::uint32_t sign_step = 8192;

inline constexpr std::uint32_t sampled_rows = 64;
inline constexpr std::uint32_t groups = 8;

/// Adds `one`, 0 or 1, shifted by `shift` mod 32, to the word at `at`.
__device__ __forceinline__ void count_one(std::uint32_t at, std::uint32_t shift,
                                          std::uint32_t one) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(__funnelshift_l(0, one, shift))
               : "memory");
}

/// The three words of a pair of sampled rows: the row above it and its own.
struct RowPair {
  std::uint32_t above, first, second;
};

/// What the sample shows beside the counts.
struct Sample {
  std::uint32_t greatest[6]{};  ///< of the groups' largest exponents << 7, falling
  std::uint32_t live_groups{};
  std::uint32_t any{};
  std::uint32_t all{~0u};
};

__device__ __forceinline__ void count_word(std::uint32_t word, std::uint32_t above,
                                           std::uint32_t counts, std::uint32_t& largest) {
  // The change takes the place of the exponent's bit 4, and the mantissa is gone.
  const std::uint32_t change = (word ^ above) >> 4;
  const std::uint32_t key = word & 0xf780f780u | change & 0x08000800u;
  const std::uint32_t exponents = word & 0x7f807f80u;
  // Without a branch: of a value with exponent 0, 0 is added.
  const std::uint32_t lives = __vminu2(exponents, 0x00010001u);
  count_one(key >> 2 & 0x2380u | counts, key >> 4, lives & 0xffffu);
  count_one(key >> 18 & 0x2380u | (counts + channel_step), key >> 20, lives >> 16);
  largest = __vmaxu2(largest, exponents);
}

/// `from` is the lane's word of the tile's first row; `counts` the lane's part of the histograms,
/// which are 0.
__device__ __forceinline__ Sample take_sample(const std::byte* from, std::uint64_t row_size,
                                              std::uint32_t counts) {
  const auto load_pair = [&](const std::byte* at) {
    const auto word = [&](std::int64_t row) {
      return __ldg(
          reinterpret_cast<const std::uint32_t*>(at + row * static_cast<std::int64_t>(row_size)));
    };
    return RowPair{at == from ? 0 : word(-1), word(0), word(1)};
  };
  Sample sample;
  RowPair rows[4];
  const std::byte* next = from;
#pragma unroll
  for (int i = 0; i < 4; ++i, next += 8 * row_size) rows[i] = load_pair(next);
#pragma unroll 1
  for (std::uint32_t group = 0; group < groups; ++group) {
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i, next += 8 * row_size) {
      const RowPair pair = rows[i];
      if (group + 1 < groups) rows[i] = load_pair(next);
      count_word(pair.first, pair.above, counts, largest);
      count_word(pair.second, pair.first, counts, largest);
      sample.any |= pair.first;
      sample.all &= pair.first;
    }
    sample.live_groups += __vminu2(largest, 0x00010001u);
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      const std::uint32_t less = __vminu2(sample.greatest[i], largest);
      sample.greatest[i] = __vmaxu2(sample.greatest[i], largest);
      largest = less;
    }
  }
  return sample;
}

/// T0 of a channel with `live` groups: of these, in falling order, number live - 1 - live / 4.
__device__ __forceinline__ std::uint32_t first_top(const Sample& sample, int channel,
                                                   std::uint32_t live) {
  std::uint32_t top = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < 6; ++i) {
    if (i + live / 4 + 1 == live) top = half(sample.greatest[i], channel) >> 7;
  }
  return top;
}

/// Counts of a channel by [4 * sign + e / 4 mod 4], a byte each, rotated by bytes as asked.
__device__ __forceinline__ void rotate(std::uint32_t (&counts)[8], std::uint32_t by) {
#pragma unroll
  for (int s = 0; s < 8; s += 4) {
    const bool one = (by & 4) != 0, two = (by & 8) != 0;
    std::uint32_t w[4], v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = one ? counts[s + (i + 1) % 4] : counts[s + i];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = two ? w[(i + 2) % 4] : w[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) counts[s + i] = __funnelshift_r(v[i], v[(i + 1) % 4], 8 * by);
  }
}

/// The least cost of one top for all channels, with top - `first` and class below it. Tops from
/// `first` on, `tops` of them. Of the counts, those of signs and changes that differ are in use no
/// more: bins of all channels go there.
__device__ __forceinline__ std::uint32_t best_shared(std::uint32_t counts, std::uint32_t zeros,
                                                     std::uint32_t first, std::uint32_t tops) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t room = counts - 4 * lane + change_step;
  sync_warp();
#pragma unroll 1
  for (std::uint32_t i = 0; i < 8; ++i) {  // four bins of both channels at a time
    const std::uint32_t at = counts + i / 4 * (sign_step + change_step) + i % 4 * 128;
    const std::uint32_t even = load_shared(at), odd = load_shared(at + channel_step);
    const std::uint32_t low =
        __reduce_add_sync(all_lanes, (even & 0x00ff00ffu) + (odd & 0x00ff00ffu));
    const std::uint32_t high =
        __reduce_add_sync(all_lanes, (even >> 8 & 0x00ff00ffu) + (odd >> 8 & 0x00ff00ffu));
    if (lane < 4) {
      store_shared(room + 16 * i + 4 * lane, half(lane % 2 != 0 ? high : low, lane >= 2));
    }
  }
  zeros = __reduce_add_sync(all_lanes, zeros);
  sync_warp();
  const std::uint32_t k = lane % class_count;
  std::uint32_t best = ~0u;
  for (std::uint32_t i = lane / class_count; i < tops; i += 2) {
    std::uint32_t cost = zeros * cost_words.of_zero[k];
    for (std::uint32_t j = 0; j < 32; ++j) {  // sign and rising exponents from top - 15 on
      const std::uint32_t e = (first + i + 1 + j) % 16;
      cost +=
          load_shared(room + 4 * (j / 16 * 16 + e)) * (cost_words.of[k][j / 4] >> j % 4 * 8 & 255);
    }
    best = min(best, cost << 8 | i << 4 | k);
  }
  return __reduce_min_sync(all_lanes, best);
}

/// All of it.
__device__ __forceinline__ TileChoice choose(const std::byte* from, std::uint64_t row_size,
                                             std::uint32_t counts, LaneChoice& chosen) {
  const std::uint32_t lane = threadIdx.x % 32;
  const Sample sample = take_sample(from, row_size, counts);
  TileChoice tile;
  {
    const std::uint32_t any = (sample.any | sample.any >> 16) & 63;
    const std::uint32_t all = sample.all & sample.all >> 16 & 63;
    tile.varies = (__reduce_or_sync(all_lanes, any) & ~__reduce_and_sync(all_lanes, all)) == 63;
  }

  std::uint32_t own_cost = 0, class_cost = 0, zeros = 0;  // class_cost: of class `lane`
  std::uint32_t t0[2], class_of[2], best_j[2];            // best_j: two bits a class
  bool lives[2];
#pragma unroll 1
  for (int c = 0; c < 2; ++c) {
    const std::uint32_t at = counts + c * channel_step;
    std::uint32_t h[8];
    std::uint32_t n = 0, ones = 0, changes = 0;
    {
      std::uint32_t mixed[2][4];  // signs and changes that differ
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        h[q] = load_shared(at + 128 * q);
        mixed[0][q] = load_shared(at + 128 * q + change_step);
        mixed[1][q] = load_shared(at + 128 * q + sign_step);
        h[4 + q] = load_shared(at + 128 * q + sign_step + change_step);
        const std::uint32_t a_byte = 0x01010101u;
        n = __dp4a(h[q], a_byte, __dp4a(mixed[0][q], a_byte, n));
        changes = __dp4a(mixed[0][q], a_byte, __dp4a(h[4 + q], a_byte, changes));
        ones = __dp4a(mixed[1][q], a_byte, __dp4a(h[4 + q], a_byte, ones));
      }
      n += ones;
      const auto skew = [&](std::uint32_t count) {
        return abs(static_cast<int>(2 * count) - static_cast<int>(n));
      };
      const bool by_change = skew(changes) > skew(ones) + static_cast<int>(n / 16 + 4);
      if (by_change) chosen.changes |= 0x8000u << 16 * c;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        h[q] += by_change ? mixed[1][q] : mixed[0][q];
        h[4 + q] += by_change ? mixed[0][q] : mixed[1][q];
        store_shared(at + 128 * q, h[q]);  // for best_shared
        store_shared(at + 128 * q + sign_step + change_step, h[4 + q]);
      }
    }
    const std::uint32_t live = half(sample.live_groups, c);
    const std::uint32_t dead = sampled_rows - n;
    const std::uint32_t top = first_top(sample, c, live);
    zeros += dead;

    // Exponents from t0 - 15 on; and one, two and three further.
    std::uint32_t r[4][8];
    rotate(h, top + 1);
#pragma unroll
    for (int i = 0; i < 8; ++i) r[0][i] = h[i];
#pragma unroll
    for (int j = 1; j < 4; ++j) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        r[j][i] = __funnelshift_r(r[j - 1][i], r[j - 1][i / 4 * 4 + (i + 1) % 4], 8);
      }
    }
    std::uint32_t best = ~0u, js = 0;
#pragma unroll
    for (std::uint32_t k = class_count; k-- > 0;) {
      if (k + 1 == symmetric_classes) {
        // From here on the sign is of no matter.
#pragma unroll
        for (int i = 0; i < 16; ++i) r[i / 4][i % 4] += r[i / 4][4 + i % 4];
      }
      const int words = k < symmetric_classes ? 4 : 8;
      const std::uint32_t of_zeros = dead * cost_words.of_zero[k];
      std::uint32_t least = ~0u;
#pragma unroll
      for (std::uint32_t j = 0; j < 4; ++j) {
        std::uint32_t cost = of_zeros;
#pragma unroll
        for (int i = 0; i < words; ++i) cost = __dp4a(r[j][i], cost_words.of[k][i], cost);
        least = min(least, cost * 4 + j);
      }
      js = js * 4 + (least & 3);
      best = min(best, (least & ~3u) * 4 + k);
      const std::uint32_t sum = __reduce_add_sync(all_lanes, least >> 2);
      if (lane == k) class_cost += sum;
    }
    own_cost += best >> 4;
    if (c == 0) {
      t0[0] = top, class_of[0] = best & 15, best_j[0] = js, lives[0] = live != 0;
    } else {
      t0[1] = top, class_of[1] = best & 15, best_j[1] = js, lives[1] = live != 0;
    }
  }

  const auto of_lives = [&](int c, std::uint32_t otherwise) {
    return lives[c] ? t0[c] : otherwise;
  };
  std::uint32_t least = __reduce_min_sync(all_lanes, min(of_lives(0, ~0u), of_lives(1, ~0u)));
  const std::uint32_t greatest = __reduce_max_sync(all_lanes, max(of_lives(0, 0), of_lives(1, 0)));
  least = min(least, greatest);
  own_cost = __reduce_add_sync(all_lanes, own_cost);
  const std::uint32_t common_key =
      __reduce_min_sync(all_lanes, lane < class_count ? class_cost << 4 | lane : ~0u);
  const std::uint32_t common = common_key & 15;

  // Costs are of a quarter of the rows.
  const std::uint32_t by_class = 4 * own_cost + 12 * 8 * tiles::tile_width;
  const std::uint32_t by_top = 4 * (common_key >> 4) + 12 * 4 * tiles::tile_width;
  std::uint32_t least_cost = by_class;
  tile.form = classes_form;
  if (by_top <= by_class) {
    tile.form = tops_form;
    least_cost = by_top;
  }
  std::uint32_t tops[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    if (tile.form == tops_form) class_of[c] = common;
    tops[c] = of_lives(c, greatest) + (best_j[c] >> 2 * class_of[c] & 3);
  }
  constexpr std::uint32_t max_shared_tops = 12;
  if (greatest + 4 - least <= max_shared_tops && 4 * (common_key >> 4) <= least_cost) {
    const std::uint32_t shared = best_shared(counts, zeros, least, greatest + 4 - least);
    if (4 * (shared >> 8) <= least_cost) {
      tile.form = shared_form;
      class_of[0] = class_of[1] = shared & 15;
      tops[0] = tops[1] = least + (shared >> 4 & 15);
    }
  }
  tops[0] = min(tops[0], 255u);
  tops[1] = min(tops[1], 255u);
  tile.least = __reduce_min_sync(all_lanes, min(tops[0], tops[1]));
  tile.greatest = __reduce_max_sync(all_lanes, max(tops[0], tops[1]));
  chosen.tops = pair(tops[0], tops[1]);
  chosen.classes = pair(class_of[0], class_of[1]);
  return tile;
}

}  // namespace offramp::exact_dense::gpu
