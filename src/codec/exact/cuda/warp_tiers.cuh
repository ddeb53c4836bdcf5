// SPDX-License-Identifier: Apache-2.0
// Tiers 2 to 4 and the raw bytes of one piece, by one warp (spec.md, Tiers).
#pragma once

#include "codec/exact/cuda/warp_bytes.cuh"

namespace offramp::exact::gpu {

/// The codes of a piece in shared memory (at most 1536 bytes), behind them the v that the tier
/// before sends on. Later tiers' v overwrite earlier ones, and the raw bytes end up behind the
/// codes.
inline constexpr std::uint32_t codes_room = 1536;
inline constexpr std::uint32_t v_room = 2048 + 16;
inline constexpr std::uint32_t piece_room = codes_room + v_room;

/// Appends to `to` the v whose codes say so, four bytes of `v` each: the code of byte j stands in
/// bits `shift_j` of `mask`.
template <int s0, int s1, int s2, int s3>
__device__ __forceinline__ void push_four(std::uint32_t& to, std::uint32_t mask, std::uint32_t v) {
  push<s0, 0>(to, mask, v);
  push<s1, 1>(to, mask, v);
  push<s2, 2>(to, mask, v);
  push<s3, 3>(to, mask, v);
}

/// Tier 2 of `n` values at `v`: eight a lane. Gives how many v it sends on to `next`, which may
/// overlap `v` from its begin on.
__device__ __forceinline__ std::uint32_t encode_tier2(const std::uint8_t* v, std::uint32_t n,
                                                      std::uint8_t* codes, std::uint8_t* next) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t sent = 0;
#pragma unroll 1
  for (std::uint32_t first = 0; first < n; first += 256) {
    const std::uint32_t k = first + 8 * lane;
    uint2 bytes = make_uint2(0, 0);
    if (k < n) bytes = *reinterpret_cast<const uint2*>(v + k);
    // Codes min(max(v, 3) - 3, 3), as halves of even and odd bytes.
    const auto codes_of = [](std::uint32_t halves) {
      return __vminu2(__viaddmax_s16x2(halves, 0xfffdfffdu, 0), 0x00030003u);
    };
    const std::uint32_t even0 = codes_of(__byte_perm(bytes.x, 0, 0x4240));
    const std::uint32_t odd0 = codes_of(__byte_perm(bytes.x, 0, 0x4341));
    const std::uint32_t even1 = codes_of(__byte_perm(bytes.y, 0, 0x4240));
    const std::uint32_t odd1 = codes_of(__byte_perm(bytes.y, 0, 0x4341));
    const std::uint32_t sum = even0 + 16 * odd0 + 4 * even1 + 64 * odd1;
    const std::uint32_t word = __byte_perm(sum, 0, 0x4420);
    const std::uint32_t mask = escapes_of(word);
    const std::uint32_t count = __popc(mask);
    const std::uint32_t upto = inclusive_scan(count);
    __syncwarp();
    if (k < n) *reinterpret_cast<std::uint16_t*>(codes + k / 4) = static_cast<std::uint16_t>(word);
    std::uint32_t to = shared_address(next) + sent + upto - count;
    push_four<0, 4, 8, 12>(to, mask, bytes.x);
    push_four<2, 6, 10, 14>(to, mask, bytes.y);
    sent += __shfl_sync(all_lanes, upto, 31);
  }
  return sent;
}

/// Tier 3 or 4 likewise, four values a lane.
template <int tier>
__device__ __forceinline__ std::uint32_t encode_tier34(std::uint8_t* v, std::uint32_t n,
                                                       std::uint8_t* codes, std::uint8_t* next) {
  constexpr std::uint32_t lowest = tier == 3 ? 6 : 9;
  constexpr std::uint32_t minus = ((0x10000u - lowest) & 0xffff) * 0x10001u;
  const std::uint32_t lane = threadIdx.x % 32;
  if (lane < 3) v[n + lane] = lowest;  // code 0
  __syncwarp();
  std::uint32_t sent = 0;
#pragma unroll 1
  for (std::uint32_t first = 0; first < n; first += 128) {
    const std::uint32_t k = first + 4 * lane;
    std::uint32_t bytes = lowest * 0x01010101u;
    if (k < n) bytes = *reinterpret_cast<const std::uint32_t*>(v + k);
    const std::uint32_t even_v = __byte_perm(bytes, 0, 0x4240);
    const std::uint32_t odd_v = __byte_perm(bytes, 0, 0x4341);
    std::uint32_t even = __viaddmin_u16x2(even_v, minus, 0x00030003u);
    std::uint32_t odd = __viaddmin_u16x2(odd_v, minus, 0x00030003u);
    if constexpr (tier == 4) {  // 9, 10, 255: what is 2 here is no code, and 255 has code 2
      const auto fix = [](std::uint32_t codes_in, std::uint32_t halves) {
        codes_in |= (codes_in >> 1) & 0x00010001u;
        return codes_in + __vminu2(0x00ff00ffu - halves, 0x00010001u) - 0x00010001u;
      };
      even = fix(even, even_v);
      odd = fix(odd, odd_v);
    }
    const std::uint32_t sum = even + 4 * odd;
    const std::uint32_t word = (sum | (sum >> 12)) & 0xff;
    const std::uint32_t mask = escapes_of(word);
    const std::uint32_t count = __popc(mask);
    const std::uint32_t upto = inclusive_scan(count);
    __syncwarp();
    if (k < n) codes[k / 4] = static_cast<std::uint8_t>(word);
    std::uint32_t to = shared_address(next) + sent + upto - count;
    push_four<0, 2, 4, 6>(to, mask, bytes);
    sent += __shfl_sync(all_lanes, upto, 31);
  }
  return sent;
}

/// Tier 4 of at most 32 values, one a lane.
__device__ __forceinline__ std::uint32_t encode_short_tier4(const std::uint8_t* v, std::uint32_t n,
                                                            std::uint8_t* codes,
                                                            std::uint8_t* next) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t value = lane < n ? v[lane] : 9;
  const std::uint32_t code = value == 255 ? 2 : value <= 10 ? value - 9 : 3;
  const std::uint32_t raw = __ballot_sync(all_lanes, code == 3);
  std::uint32_t word = code << (2 * (lane % 4));
  word |= __shfl_xor_sync(all_lanes, word, 1);
  word |= __shfl_xor_sync(all_lanes, word, 2);
  if (lane % 4 == 0 && lane < n) codes[lane / 4] = static_cast<std::uint8_t>(word);
  if (code == 3) next[__popc(raw & ((1u << lane) - 1))] = static_cast<std::uint8_t>(value);
  return __popc(raw);
}

struct PieceSize {
  std::uint32_t words{};  ///< of 4 bytes, in the heap
  std::uint32_t raw{};    ///< values that no tier has
};

/// Codes the `n` v at `room + codes_room` (8-byte aligned, 16 bytes of room behind them) to `room`.
__device__ __forceinline__ PieceSize encode_piece_heap(std::uint8_t* room, std::uint32_t n) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint8_t* const v = room + codes_room;
  if (lane < 7) v[n + lane] = 0;  // code 0
  __syncwarp();
  std::uint32_t at = 2 * ((n + 7) / 8);
  const std::uint32_t n3 = encode_tier2(v, n, room, v);
  __syncwarp();
  const std::uint32_t n4 = encode_tier34<3>(v, n3, room + at, v);
  at += (n3 + 3) / 4;
  __syncwarp();
  // The raw bytes go behind the codes: never past the v that are still to be read.
  const std::uint32_t codes4 = at;
  at += (n4 + 3) / 4;
  const std::uint32_t raw = n4 <= 32 ? encode_short_tier4(v, n4, room + codes4, room + at)
                                     : encode_tier34<4>(v, n4, room + codes4, room + at);
  at += raw;
  const std::uint32_t words = (at + 3) / 4;
  if (at + lane < words * 4) room[at + lane] = 0;
  return {words, raw};
}

/// -v of tier 2's codes 0, 1, 2: 0, -4, -5. Of four codes, 4 bits apart.
__device__ __forceinline__ std::uint32_t known_in_tier2(std::uint32_t codes) {
  return __byte_perm(0x00fbfc00u, 0, codes & 0x3333u);
}

template <int s0, int s1, int s2, int s3>
__device__ __forceinline__ void pop_four(std::uint32_t& from, std::uint32_t mask,
                                         std::uint32_t& bytes) {
  pop<s0, 1u>(from, mask, bytes);
  pop<s1, 1u << 8>(from, mask, bytes);
  pop<s2, 1u << 16>(from, mask, bytes);
  pop<s3, 1u << 24>(from, mask, bytes);
}

/// The eight values of a word of tier 2 codes that stands at bit `at` of `mask`.
template <int at>
__device__ __forceinline__ void pop_tier2(std::uint32_t& from, std::uint32_t mask,
                                          std::uint32_t& low, std::uint32_t& high) {
  pop_four<at, at + 4, at + 8, at + 12>(from, mask, low);
  pop_four<at + 2, at + 6, at + 10, at + 14>(from, mask, high);
}

/// Bits that the codes behind the last of `n` take in a tier's last word or byte, if it has such.
__device__ __forceinline__ std::uint32_t unused_in_tier2(std::uint32_t n) {
  // Code t of eight stands in bits 4 (t mod 4) + 2 (t / 4).
  const std::uint32_t used = n % 8;
  if (used == 0) return 0;
  const std::uint32_t low = (1u << (4 * min(used, 4u))) - 1;
  const std::uint32_t high = (1u << (4 * (max(used, 4u) - 4))) - 1;
  return 0xffffu & ~((low & 0x3333u) | (high & 0x3333u) << 2);
}
__device__ __forceinline__ std::uint32_t unused_in_tier34(std::uint32_t n) {
  return n % 4 == 0 ? 0 : 0xffu & 0xffu << (2 * (n % 4));
}

/// A piece's heap in shared memory, as far as it was looked through.
struct Piece {
  const std::uint8_t* codes[5]{};  ///< of tier 2, 3, 4 at their number
  const std::uint8_t* raw{};
  std::uint32_t n[5]{};  ///< values that tier 2, 3, 4 codes
  std::uint32_t used{};  ///< bytes, or more than `size` where the piece is too short
};

/// Restores the v of tiers 4 to 2 from the raw bytes on, negated, to `v`, which has 2048 bytes:
/// those of tier 2 from its begin on. For any counts.
static __device__ __noinline__ void restore_any(const Piece& piece, std::uint8_t* v) {
  const std::uint32_t lane = threadIdx.x % 32;
  // Backwards from the raw bytes. Each tier's v stand at the end of `v`, so that the tier before,
  // whose v are more, can be written from further in front while these are read.
  std::uint8_t* const end = v + 2048;
  const auto restore = [&](const std::uint8_t* codes, std::uint32_t n, const std::uint8_t* next,
                           bool last, std::uint32_t lowest) {
    std::uint8_t* const to = end - n;
    std::uint32_t used = 0;
#pragma unroll 1
    for (std::uint32_t first = 0; first < n; first += 32) {
      const std::uint32_t k = first + lane;
      const std::uint32_t code = k < n ? codes[k / 4] >> (2 * (k % 4)) & 3u : 0;
      const std::uint32_t escapes = __ballot_sync(all_lanes, code == 3);
      std::uint32_t minus_v = 0u - (lowest + code);
      if (last && code == 2) minus_v = 1;
      if (code == 3) {
        minus_v = next[used + __popc(escapes & ((1u << lane) - 1))];
        if (last) minus_v = 0u - minus_v;
      }
      __syncwarp();
      if (k < n) to[k] = static_cast<std::uint8_t>(minus_v);
      used += __popc(escapes);
    }
    __syncwarp();
  };
  restore(piece.codes[4], piece.n[4], piece.raw, true, 9);
  restore(piece.codes[3], piece.n[3], end - piece.n[4], false, 6);

  const auto* const codes2 = reinterpret_cast<const std::uint16_t*>(piece.codes[2]);
  const std::uint32_t n2 = piece.n[2];
  const std::uint8_t* const next = end - piece.n[3];
  std::uint32_t used = 0;
#pragma unroll 1
  for (std::uint32_t first = 0; first < n2; first += 256) {
    const std::uint32_t k = first + 8 * lane;
    const std::uint32_t word = k < n2 ? codes2[k / 8] : 0;
    std::uint32_t low = known_in_tier2(word), high = known_in_tier2(word >> 2);
    const std::uint32_t mask = escapes_of(word);
    const std::uint32_t escapes = __popc(mask);
    const std::uint32_t upto = inclusive_scan(escapes);
    std::uint32_t from = shared_address(next) + used + upto - escapes;
    pop_tier2<0>(from, mask, low, high);
    used += __shfl_sync(all_lanes, upto, 31);
    __syncwarp();
    if (k < n2) *reinterpret_cast<uint2*>(v + k) = make_uint2(low, high);
    __syncwarp();
  }
}

/// Decodes the heap of one piece, of which tier 1 sends on `n2` values: their v, negated, go to the
/// begin of `v`, which has 2048 bytes. `codes` is 2-byte aligned in shared memory and has `size`
/// bytes, untrusted. Gives the bytes used without the padding to 4; more than `size` where the
/// piece holds less or a bit that no encoder sets.
__device__ __forceinline__ std::uint32_t decode_piece_heap(const std::uint8_t* codes,
                                                           std::uint32_t size, std::uint32_t n2,
                                                           std::uint8_t* v) {
  const std::uint32_t lane = threadIdx.x % 32;
  const auto* const codes2 = reinterpret_cast<const std::uint16_t*>(codes);
  const std::uint32_t groups2 = (n2 + 7) / 8;
  constexpr std::uint32_t bad = ~0u;
  if (2 * groups2 > size) return bad;

  // Ordinary pieces are done in one go: three words of tier 2, two bytes of tier 3 and two values
  // of tier 4 a lane.
  if (n2 <= 768) {
    const std::uint32_t j2 = 3 * lane;
    const std::uint32_t word0 = j2 < groups2 ? codes2[j2] : 0;
    const std::uint32_t word1 = j2 + 1 < groups2 ? codes2[j2 + 1] : 0;
    const std::uint32_t word2 = j2 + 2 < groups2 ? codes2[j2 + 2] : 0;
    const std::uint32_t mask01 = escapes_of(word0 | word1 << 16), mask2 = escapes_of(word2);
    const std::uint32_t count3 = __popc(mask01) + __popc(mask2);
    const std::uint32_t upto3 = inclusive_scan(count3);
    const std::uint32_t n3 = __shfl_sync(all_lanes, upto3, 31);
    if (n3 <= 256) {
      const std::uint8_t* const codes3 = codes + 2 * groups2;
      const std::uint32_t groups3 = (n3 + 3) / 4;
      if (2 * groups2 + groups3 > size) return bad;
      const std::uint32_t j3 = 2 * lane;
      std::uint32_t word3 = j3 < groups3 ? codes3[j3] : 0;
      if (j3 + 1 < groups3) word3 |= static_cast<std::uint32_t>(codes3[j3 + 1]) << 8;
      const std::uint32_t mask3 = escapes_of(word3);
      const std::uint32_t count4 = __popc(mask3);
      const std::uint32_t upto4 = inclusive_scan(count4);
      const std::uint32_t n4 = __shfl_sync(all_lanes, upto4, 31);
      if (n4 <= 64) {
        const std::uint8_t* const codes4 = codes3 + groups3;
        const std::uint32_t groups4 = (n4 + 3) / 4;
        const std::uint32_t at_raw = 2 * groups2 + groups3 + groups4;
        if (at_raw > size) return bad;
        std::uint32_t unused = 0;
        if (n2 % 8 != 0) unused = codes2[groups2 - 1] & unused_in_tier2(n2);
        if (n3 % 4 != 0) unused |= codes3[groups3 - 1] & unused_in_tier34(n3);
        if (n4 % 4 != 0) unused |= codes4[groups4 - 1] & unused_in_tier34(n4);
        if (unused != 0) return bad;

        const auto code4 = [&](std::uint32_t k) {
          return k < n4 ? codes4[k / 4] >> (2 * (k % 4)) & 3u : 0u;
        };
        const std::uint32_t first = code4(lane), second = code4(lane + 32);
        const std::uint32_t raw_first = __ballot_sync(all_lanes, first == 3);
        const std::uint32_t raw_second = __ballot_sync(all_lanes, second == 3);
        const std::uint32_t used = at_raw + __popc(raw_first) + __popc(raw_second);
        if (used > size) return bad;
        const std::uint32_t below = (1u << lane) - 1;
        const auto minus_v = [&](std::uint32_t code, std::uint32_t place) -> std::uint32_t {
          const std::uint32_t v4 = code == 3 ? codes[at_raw + place] : code == 2 ? 255u : 9 + code;
          return 0u - v4;
        };
        std::uint8_t* const v4 = v + 1984;
        std::uint8_t* const v3 = v + 1728;
        v4[lane] = static_cast<std::uint8_t>(minus_v(first, __popc(raw_first & below)));
        if (n4 > 32) {
          v4[lane + 32] = static_cast<std::uint8_t>(
              minus_v(second, __popc(raw_first) + __popc(raw_second & below)));
        }
        __syncwarp();
        // -6, -7, -8 for codes 0, 1, 2.
        const auto known3 = [](std::uint32_t byte) {
          const std::uint32_t spread = (byte | byte << 4) & 0x0f0fu;
          return __byte_perm(0x00f8f9fau, 0, (spread | spread << 2) & 0x3333u);
        };
        std::uint32_t low = known3(word3 & 0xff), high = known3(word3 >> 8);
        std::uint32_t from = shared_address(v4) + upto4 - count4;
        pop_four<0, 2, 4, 6>(from, mask3, low);
        pop_four<8, 10, 12, 14>(from, mask3, high);
        *reinterpret_cast<uint2*>(v3 + 8 * lane) = make_uint2(low, high);
        __syncwarp();
        std::uint32_t bytes[6] = {known_in_tier2(word0), known_in_tier2(word0 >> 2),
                                  known_in_tier2(word1), known_in_tier2(word1 >> 2),
                                  known_in_tier2(word2), known_in_tier2(word2 >> 2)};
        from = shared_address(v3) + upto3 - count3;
        pop_tier2<0>(from, mask01, bytes[0], bytes[1]);
        pop_tier2<16>(from, mask01, bytes[2], bytes[3]);
        pop_tier2<0>(from, mask2, bytes[4], bytes[5]);
        auto* const to = reinterpret_cast<uint2*>(v + 24 * lane);
        to[0] = make_uint2(bytes[0], bytes[1]);
        to[1] = make_uint2(bytes[2], bytes[3]);
        to[2] = make_uint2(bytes[4], bytes[5]);
        return used;
      }
    }
  }

  Piece piece;
  piece.n[2] = n2;
  piece.codes[2] = codes;
  const auto count_escapes = [&](const std::uint8_t* from, std::uint32_t bytes) {
    std::uint32_t escapes = 0;
#pragma unroll 1
    for (std::uint32_t j = lane; j < bytes; j += 32) escapes += __popc(escapes_of(from[j]));
    return __reduce_add_sync(all_lanes, escapes);
  };
  std::uint32_t at = 2 * groups2;
  std::uint32_t unused = n2 % 8 != 0 ? codes2[groups2 - 1] & unused_in_tier2(n2) : 0;
  piece.n[3] = count_escapes(codes, at);
#pragma unroll
  for (int tier = 3; tier <= 4; ++tier) {
    const std::uint32_t n = piece.n[tier], bytes = (n + 3) / 4;
    if (at + bytes > size) return bad;
    piece.codes[tier] = codes + at;
    if (n % 4 != 0) unused |= codes[at + bytes - 1] & unused_in_tier34(n);
    const std::uint32_t escapes = count_escapes(codes + at, bytes);
    at += bytes;
    if (tier == 3) piece.n[4] = escapes;
    if (tier == 4) piece.used = at + escapes;
  }
  piece.raw = codes + at;
  if (unused != 0 || piece.used > size) return bad;
  restore_any(piece, v);
  return piece.used;
}

}  // namespace offramp::exact::gpu
