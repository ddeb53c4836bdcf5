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

/// What a block shares while it chooses.
struct ChoiceRoom {
  // One bin more takes what lies outside the window. 65 counters a row keep lanes, which have
  // channels 8 apart, off each other's banks.
  std::uint32_t count[bins + 1][65];
  alignas(16) std::uint32_t warp_top[warps][32];  ///< of channels 2i and 2i+1, as halves
};

/// What all threads see of the choice. Each warp looks after eight channels.
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

/// 3, 2, 1 points for each value that tier 1, 2, 3 takes; `at(d)` counts those at distance d.
template <class At>
__device__ __forceinline__ std::uint32_t score_of(At&& at) {
  return 3 * (at(0) + at(1) + at(2)) + 2 * (at(3) + at(-1) + at(-2)) + at(-3) + at(-4) + at(-5);
}

/// One base for all channels instead, where that costs less than the section of bases saves. All
/// threads call it; `top` and the counts are those of the thread's channel.
static __device__ __noinline__ TileBases try_shared(TileBases tile, std::uint32_t top,
                                                    const ChoiceRoom& room, Choice& choice) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t channel = 8 * warp + lane % 8, candidate = lane / 8;
  const std::uint32_t place = (top + 4 - (tile.low + candidate)) & 0xff;
  std::uint32_t score = 0;
  if (place < bins) {
    score = score_of([&](int d) {
      const int bin = static_cast<int>(place) - d;
      return bin < 0 || bin >= static_cast<int>(bins) ? 0u : room.count[bin][channel];
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
  for (std::uint32_t i = t; i < sizeof room.count / 4; i += 256) (&room.count[0][0])[i] = 0;
  __syncthreads();

  {
    uint4 top = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (std::uint32_t w = 0; w < warps; ++w) {
      const uint4 other = reinterpret_cast<const uint4*>(room.warp_top[w])[octet];
      top.x = __vmaxu2(top.x, other.x);
      top.y = __vmaxu2(top.y, other.y);
      top.z = __vmaxu2(top.z, other.z);
      top.w = __vmaxu2(top.w, other.w);
    }
    const std::uint32_t tops[4] = {top.x, top.y, top.z, top.w};
    std::uint32_t* const counts = &room.count[0][8 * octet];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      // 256 more in each half: the low one never borrows from the high one.
      const std::uint32_t upper = tops[q] + 0x01040104u;
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const std::uint32_t exponents = exponents_of(s == 0 ? row0[q] : row4[q]);
        const std::uint32_t bin = __vminu2((upper - exponents) & 0x00ff00ffu, 0x00100010u);
        atomicAdd(counts + 65 * (bin & 0xffff) + 2 * q, 1u);
        atomicAdd(counts + 65 * (bin >> 16) + 2 * q + 1, 1u);
      }
    }
  }
  __syncthreads();

  // Four lanes a channel, each with four of the 16 candidates.
  const std::uint32_t channel = 8 * warp + octet, quarter = lane / 8;
  std::uint32_t top = 0;
  {
    const auto* const tops = reinterpret_cast<const std::uint16_t*>(room.warp_top) + channel;
#pragma unroll
    for (std::uint32_t w = 0; w < warps; ++w) top = max(top, std::uint32_t{tops[64 * w]});
  }
  std::uint32_t best = 0;
  {
    std::uint32_t seen[12];
#pragma unroll
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t bin = 4 * quarter - 3 + i;  // out of range below 0 too
      seen[i] = bin < bins ? room.count[bin][channel] : 0;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t score = score_of([&](int d) { return seen[3 + j - d]; });
      best = max(best, score * 16 + 15 - (4 * quarter + j));
    }
  }
  best = max(best, __shfl_xor_sync(all_lanes, best, 8));
  best = max(best, __shfl_xor_sync(all_lanes, best, 16));
  const std::uint32_t base = (top + 4 - (15 - best % 16)) & 0xff;
  if (lane < 8) choice.base[channel] = static_cast<std::uint8_t>(base);
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
  const bool is_ordinary = (varying & 0xff) == 0xff && bits >= 3 && tile.low >= 8 &&
                           tile.high <= 251 &&
                           8 * sampled_values < bits * sampled_values + 2 * tile.points;
  const std::uint32_t bits_size = 16 + tiles::tile_values / 8 * (bits + 8);
  constexpr std::uint32_t body_size = tiles::tile_values / 4 + tiles::tile_values;
  return is_ordinary && bits_size > body_size ? bits_size - body_size : 0;
}

}  // namespace offramp::exact::gpu
