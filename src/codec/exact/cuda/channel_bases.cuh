// SPDX-License-Identifier: Apache-2.0
// The encoder's choice of bases for a full tile of bf16, by a block of 256 threads (spec.md, What
// the encoder chooses). The sample, every fourth row, is in registers: a lane has rows 0 and 4 of
// its eight, a pair, for its eight channels.
#pragma once

#include "codec/exact/cuda/warp_bytes.cuh"
#include "codec/exact/exact_format.hpp"

namespace offramp::exact::gpu {

inline constexpr std::uint32_t warps = 8;
inline constexpr std::uint32_t bins = 16;  ///< exponents of a channel's window: top + 4 - bin
inline constexpr std::uint32_t sampled_values = 64 * 64;

/// A row of counters stands 72 words behind the one before, and channel c of octet o at word 8c + o
/// of it: lanes, which have the same channel of eight octets and neighbouring bins, meet on few
/// banks.
inline constexpr std::uint32_t bin_words = 72;

/// What a block shares while it chooses.
struct ChoiceRoom {
  // One bin more takes what lies outside the window. Nobody reads it.
  alignas(16) std::uint32_t count[bins + 1][bin_words];
  alignas(16) std::uint32_t warp_top[warps][36];  ///< of channels 2i and 2i+1, as halves
};

/// What all threads see of the choice. A warp looks after eight channels: the one that has its
/// number in each octet, four lanes each.
struct Choice {
  alignas(16) std::uint8_t base[64];
  alignas(8) std::uint8_t warp_low[warps];
  std::uint8_t warp_high[warps];
  alignas(16) std::uint16_t warp_points[warps];
  alignas(16) std::uint16_t warp_any[warps];  ///< bits that are 1 in any sampled value, as planes
  alignas(16) std::uint16_t warp_all[warps];
  // Where the bases span at most 3, for each of the four: whether it is a channel's, and its score.
  std::uint32_t has_base[warps];
  alignas(16) std::uint32_t shared_score[warps][4];
};

/// The part of the choice that the whole tile has in common.
struct TileBases {
  Bases kind{};
  std::uint32_t low{};  ///< of the bases; for shared bases, the base
  std::uint32_t high{};
  std::uint32_t points{};  ///< of the sample
};

__device__ __forceinline__ std::uint32_t min_of_bytes(uint2 bytes) {
  std::uint32_t low = __vminu4(bytes.x, bytes.y);
  low = __vminu4(low, low >> 16);
  return min(low & 0xff, low >> 8 & 0xff);
}
__device__ __forceinline__ std::uint32_t max_of_bytes(uint2 bytes) {
  std::uint32_t high = __vmaxu4(bytes.x, bytes.y);
  high = __vmaxu4(high, high >> 16);
  return max(high & 0xff, high >> 8 & 0xff);
}

/// Adds one to the counter `offset` bytes behind the shared address `at`.
__device__ __forceinline__ void count_one(std::uint32_t at, std::uint32_t offset) {
  asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(at + offset) : "memory");
}

/// 3, 2, 1 points for each value that tier 1, 2, 3 takes; `at(d)` counts those at distance d.
template <class At>
__device__ __forceinline__ std::uint32_t score_of(At&& at) {
  return 3 * (at(0) + at(1) + at(2)) + 2 * (at(3) + at(-1) + at(-2)) + at(-3) + at(-4) + at(-5);
}

/// One base for all channels instead, where that costs less than the section of bases saves. All
/// threads call it; `top` and the counts are those of the thread's channel.
__device__ __forceinline__ TileBases try_shared(TileBases tile, std::uint32_t top,
                                                const ChoiceRoom& room, Choice& choice) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t candidate = lane / 8;
  const std::uint32_t place = (top + 4 - (tile.low + candidate)) & 0xff;
  std::uint32_t score = 0;
  if (place < bins) {
    score = score_of([&](int d) {
      const int bin = static_cast<int>(place) - d;
      return bin < 0 || bin >= static_cast<int>(bins) ? 0u : room.count[bin][8 * warp + lane % 8];
    });
  }
#pragma unroll
  for (int step = 1; step < 8; step *= 2) score += __shfl_xor_sync(all_lanes, score, step);
  if (lane % 8 == 0) choice.shared_score[warp][candidate] = score;
  __syncthreads();
  std::uint32_t sum[4] = {}, has_base = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < warps; ++w) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i] += choice.shared_score[w][i];
    has_base |= choice.has_base[w];
  }
  std::uint32_t best = 0, base = 0;
#pragma unroll
  for (int i = 3; i >= 0; --i) {
    if ((has_base >> i & 1) != 0 && sum[i] > best) {
      best = sum[i];
      base = tile.low + i;
    }
  }
  // A point is 2 bits, and the sample a quarter of the values; the bases take 32 bytes.
  constexpr std::uint32_t scale = tiles::tile_values / sampled_values;
  if (2 * scale * (tile.points - best) >= 8 * 32) return tile;
  return {Bases::shared, base, base, best};
}

/// `sample`: to_planes() of the lane's rows 0 and 4. All threads call it; `choice` is complete when
/// it returns. `choice.base` holds the bases of the channels unless they are shared.
__device__ __forceinline__ TileBases choose_bases(const std::uint32_t (&row0)[4],
                                                  const std::uint32_t (&row4)[4], ChoiceRoom& room,
                                                  Choice& choice) {
  const std::uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, octet = lane % 8;
  std::uint32_t any = 0, all = ~0u;
  {
    std::uint32_t top[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      top[q] = __vminu2(exponents_of(row0[q]), exponents_of(row4[q]));
      any |= row0[q] | row4[q];
      all &= row0[q] & row4[q];
    }
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      top[q] = __vmaxu2(top[q], __shfl_xor_sync(all_lanes, top[q], 8));
      top[q] = __vmaxu2(top[q], __shfl_xor_sync(all_lanes, top[q], 16));
    }
    if (lane < 8) {
      reinterpret_cast<uint4*>(room.warp_top[warp])[octet] =
          make_uint4(top[0], top[1], top[2], top[3]);
    }
  }
  any = __reduce_or_sync(all_lanes, any);
  all = __reduce_and_sync(all_lanes, all);
  if (lane == 0) {
    choice.warp_any[warp] = static_cast<std::uint16_t>(any | any >> 16);
    choice.warp_all[warp] = static_cast<std::uint16_t>(all & all >> 16);
  }
  static_assert(bins * bin_words == 4 * (256 + 32));
  auto* const zeros = reinterpret_cast<uint4*>(room.count);
  zeros[t] = make_uint4(0, 0, 0, 0);
  if (warp == 0) zeros[256 + lane] = make_uint4(0, 0, 0, 0);
  __syncthreads();

  {
    std::uint32_t tops[4] = {};
#pragma unroll
    for (std::uint32_t w = 0; w < warps; w += 2) {
      const uint4 a = reinterpret_cast<const uint4*>(room.warp_top[w])[octet];
      const uint4 b = reinterpret_cast<const uint4*>(room.warp_top[w + 1])[octet];
      tops[0] = __vimax3_u16x2(tops[0], a.x, b.x);
      tops[1] = __vimax3_u16x2(tops[1], a.y, b.y);
      tops[2] = __vimax3_u16x2(tops[2], a.z, b.z);
      tops[3] = __vimax3_u16x2(tops[3], a.w, b.w);
    }
    // Two counters' addresses are worked out at once: in shared memory they have 16 bits.
    const std::uint32_t counts = shared_address(&room.count[0][octet]) * 0x10001u;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      // 256 more in each half: the low one never borrows from the high one.
      const std::uint32_t upper = tops[q] + 0x01040104u;
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const std::uint32_t exponents = exponents_of(s == 0 ? row0[q] : row4[q]);
        const std::uint32_t bin = __viaddmin_u16x2(upper - exponents, 0xff00ff00u, 0x00100010u);
        const std::uint32_t at = bin * (4 * bin_words) + counts;
        count_one(at & 0xffff, 32 * (2 * q));
        count_one(at >> 16, 32 * (2 * q + 1));
      }
    }
  }
  __syncthreads();

  // Four lanes a channel, each with four of the 16 candidates.
  const std::uint32_t quarter = lane / 8;
  std::uint32_t top, best = 0;
  {
    const auto* const tops =
        reinterpret_cast<const std::uint16_t*>(room.warp_top[2 * quarter]) + 8 * octet + warp;
    top = max(tops[0], tops[2 * 36]);

    // Counts are at most 64 and fit bytes: the window around the candidates is 16 of them, and a
    // score a sum of products of bytes.
    std::uint32_t own = 0;
#pragma unroll
    for (int i = 3; i >= 0; --i) own = own * 256 + room.count[4 * quarter + i][8 * warp + octet];
    std::uint32_t before = __shfl_up_sync(all_lanes, own, 8);
    std::uint32_t behind = __shfl_down_sync(all_lanes, own, 8);
    std::uint32_t after = __shfl_down_sync(all_lanes, own, 16);
    if (quarter == 0) before = 0;
    if (quarter == 3) behind = 0;
    if (quarter >= 2) after = 0;
    // The bin of distance d lies d in front of the base's. Low byte first, and 16 times the points.
    const auto points = [](std::uint32_t weights) { return weights * 16; };
    const std::uint32_t last = 15 - 4 * quarter;
    std::uint32_t score = __dp4a(before, points(0x03030200), last);
    score = __dp4a(own, points(0x01020203), score);
    best = __dp4a(behind, points(0x00000101), score);
    score = __dp4a(before, points(0x03020000), last - 1);
    score = __dp4a(own, points(0x02020303), score);
    best = max(best, __dp4a(behind, points(0x00010101), score));
    score = __dp4a(before, points(0x02000000), last - 2);
    score = __dp4a(own, points(0x02030303), score);
    best = max(best, __dp4a(behind, points(0x01010102), score));
    score = __dp4a(own, points(0x03030302), last - 3);
    score = __dp4a(behind, points(0x01010202), score);
    best = max(best, __dp4a(after, points(0x00000001), score));
  }
  top = max(top, __shfl_xor_sync(all_lanes, top, 8));
  top = max(top, __shfl_xor_sync(all_lanes, top, 16));
  best = max(best, __shfl_xor_sync(all_lanes, best, 8));
  best = max(best, __shfl_xor_sync(all_lanes, best, 16));
  const std::uint32_t base = (top + 4 - (15 - best % 16)) & 0xff;
  if (lane < 8) choice.base[8 * octet + warp] = static_cast<std::uint8_t>(base);
  const std::uint32_t low = __reduce_min_sync(all_lanes, base);
  const std::uint32_t high = __reduce_max_sync(all_lanes, base);
  const std::uint32_t points = __reduce_add_sync(all_lanes, quarter == 0 ? best / 16 : 0);
  if (lane == 0) {
    choice.warp_low[warp] = static_cast<std::uint8_t>(low);
    choice.warp_high[warp] = static_cast<std::uint8_t>(high);
    choice.warp_points[warp] = static_cast<std::uint16_t>(points);
  }
  __syncthreads();

  TileBases tile;
  tile.low = min_of_bytes(*reinterpret_cast<const uint2*>(choice.warp_low));
  tile.high = max_of_bytes(*reinterpret_cast<const uint2*>(choice.warp_high));
  tile.kind = tile.high - tile.low < 16 ? Bases::nibble : Bases::byte;
  const uint4 sums = *reinterpret_cast<const uint4*>(choice.warp_points);
  const std::uint32_t pairs = sums.x + sums.y + sums.z + sums.w;  // of halves below 2^14
  tile.points = (pairs & 0xffff) + (pairs >> 16);
  if (tile.high - tile.low <= 3) {
    const std::uint32_t has_base = __reduce_or_sync(all_lanes, 1u << (base - tile.low));
    if (lane == 0) choice.has_base[warp] = has_base;
    tile = try_shared(tile, top, room, choice);
  }
  return tile;
}

/// The largest heap that the spec surely lets an ordinary tile have; 0 where the tile may be none.
/// What it asks of all values holds if it holds for the sample; for zeros see the encoder. Bases
/// near 0 and 255 would let distances wrap.
__device__ __forceinline__ std::uint32_t max_heap_of(const TileBases& tile, const Choice& choice) {
  const uint4 any4 = *reinterpret_cast<const uint4*>(choice.warp_any);
  const uint4 all4 = *reinterpret_cast<const uint4*>(choice.warp_all);
  const std::uint32_t any = any4.x | any4.y | any4.z | any4.w;
  const std::uint32_t all = all4.x & all4.y & all4.z & all4.w;
  const std::uint32_t varying = ((any | any >> 16) ^ (all & all >> 16)) & 0xffff;
  const std::uint32_t bits = __popc(varying >> 8);
  const bool is_ordinary = (varying & 0xff) == 0xff && bits >= 3 && tile.low >= 16 &&
                           tile.high <= 251 &&
                           8 * sampled_values < bits * sampled_values + 2 * tile.points;
  const std::uint32_t bits_size = 16 + tiles::tile_values / 8 * (bits + 8);
  constexpr std::uint32_t body_size = tiles::tile_values / 4 + tiles::tile_values;
  return is_ordinary && bits_size > body_size ? bits_size - body_size : 0;
}

}  // namespace offramp::exact::gpu
