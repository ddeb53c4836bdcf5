// SPDX-License-Identifier: Apache-2.0
// Included once for each instruction set by exact_simd.cpp: moving bytes between lanes.
#if defined(OFFRAMP_EXACT_SIMD_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_EXACT_SIMD_LANES_INL_H_
#undef OFFRAMP_EXACT_SIMD_LANES_INL_H_
#else
#define OFFRAMP_EXACT_SIMD_LANES_INL_H_
#endif

#include "codec/exact/exact_groups.hpp"
#include "codec/exact/exact_kernels.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

// Byte compress and expand in one instruction, on registers: their forms that touch memory are
// microcoded on Zen 4 and 5.
#undef OFFRAMP_EXACT_VBMI2
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#define OFFRAMP_EXACT_VBMI2 1
#else
#define OFFRAMP_EXACT_VBMI2 0
#endif

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace offramp::exact::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::CappedTag<std::uint8_t, 64>;
using V8 = hn::Vec<D8>;
using M8 = hn::Mask<D8>;
using D16 = hn::Repartition<std::uint16_t, D8>;

// Where the bases of a block's rows begin: the same place for all if rows are 64 wide.
class RowBases {
 public:
  RowBases(const BaseCycle& bases, std::uint32_t phase) {
    for (auto& row : row_) {
      row = bases.bytes.data() + phase;
      phase = (phase + tile_width) % bases.width;
    }
  }
  const std::uint8_t* operator[](std::size_t row) const { return row_[row]; }

 private:
  const std::uint8_t* row_[8];
};

// By 16 bits, as x86 has no byte shifts: nothing crosses where bytes are below 64, or where only
// the low two bits are looked at and shifts sum to at most 6.
HWY_INLINE V8 shift_left_2(V8 x) {
  return hn::BitCast(D8(), hn::ShiftLeft<2>(hn::BitCast(D16(), x)));
}
HWY_INLINE V8 shift_right_2(V8 x) {
  return hn::BitCast(D8(), hn::ShiftRight<2>(hn::BitCast(D16(), x)));
}

HWY_INLINE M8 load_mask(const std::uint8_t* bits) {
  std::uint8_t padded_bits[8] = {};
  std::memcpy(padded_bits, bits, hn::Lanes(D8()) / 8);
  return hn::LoadMaskBits(D8(), padded_bits);
}

// Stores the 16-byte blocks of two vectors alternately.
HWY_INLINE void store_blocks(V8 a, V8 b, std::uint8_t* to) {
  const D8 d8;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(a.raw, first, b.raw));
  _mm512_storeu_si512(to + 64, _mm512_permutex2var_epi64(a.raw, second, b.raw));
#else
  if (hn::Lanes(d8) == 16) {
    hn::StoreU(a, d8, to);
    hn::StoreU(b, d8, to + 16);
  } else {
    hn::StoreU(hn::ConcatLowerLower(d8, b, a), d8, to);
    hn::StoreU(hn::ConcatUpperUpper(d8, b, a), d8, to + hn::Lanes(d8));
  }
#endif
}

// Adds 1 to counters in the lanes where x and y are equal.
HWY_INLINE V8 count_equal(V8 counter, V8 x, V8 y) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const __mmask64 equal = _mm512_cmpeq_epi8_mask(x.raw, y.raw);
  return V8{_mm512_mask_sub_epi8(counter.raw, equal, counter.raw, _mm512_set1_epi8(-1))};
#else
  return hn::Sub(counter, hn::VecFromMask(D8(), hn::Eq(x, y)));
#endif
}

HWY_INLINE void count_columns(const std::uint8_t* first, std::size_t rows, std::size_t stride,
                              V8 upper, WindowCounts& counts, std::size_t column) {
  const D8 d8;
  for (std::size_t t = 0; t < window; t += 8) {
    V8 c0 = hn::Zero(d8), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
    const auto bin = [&](std::size_t i) {
      return hn::Sub(upper, hn::Set(d8, static_cast<std::uint8_t>(t + i)));
    };
    const V8 b0 = bin(0), b1 = bin(1), b2 = bin(2), b3 = bin(3);
    const V8 b4 = bin(4), b5 = bin(5), b6 = bin(6), b7 = bin(7);
    for (std::size_t r = 0; r < rows; ++r) {
      const V8 e = hn::LoadU(d8, first + r * stride);
      c0 = count_equal(c0, e, b0);
      c1 = count_equal(c1, e, b1);
      c2 = count_equal(c2, e, b2);
      c3 = count_equal(c3, e, b3);
      c4 = count_equal(c4, e, b4);
      c5 = count_equal(c5, e, b5);
      c6 = count_equal(c6, e, b6);
      c7 = count_equal(c7, e, b7);
    }
    std::size_t row = t;
    for (const V8 c : {c0, c1, c2, c3, c4, c5, c6, c7}) {
      hn::StoreU(c, d8, counts.count[row++].data() + column);
    }
  }
}

// Eight bytes by a table.
HWY_INLINE std::uint8_t* compress_group(const std::uint8_t* from, unsigned mask, std::uint8_t* to) {
  const hn::FixedTag<std::uint8_t, 8> d;
  const auto shuffle = hn::LoadU(d, compress_shuffles[mask].data());
  hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from), shuffle), d, to);
  return to + std::popcount(mask);
}

HWY_INLINE hn::Vec<hn::FixedTag<std::uint8_t, 8>> expand_group(const std::uint8_t*& from,
                                                               unsigned mask) {
  const hn::FixedTag<std::uint8_t, 8> d;
  const auto shuffle = hn::LoadU(d, expand_shuffles[mask].data());
  const auto bytes = hn::TableLookupBytesOr0(hn::LoadU(d, from), shuffle);
  from += std::popcount(mask);
  return bytes;
}

#if OFFRAMP_EXACT_VBMI2
// Transposes an 8 x 8 matrix of 8-byte words: rows of a block to lanes and back.
HWY_INLINE void transpose(__m512i x[8]) {
  __m512i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    for (int h = 0; h < 2; ++h) {
      b[4 * h + i] = _mm512_shuffle_i64x2(a[4 * h + i], a[4 * h + 2 + i], 0x88);
      b[4 * h + 2 + i] = _mm512_shuffle_i64x2(a[4 * h + i], a[4 * h + 2 + i], 0xdd);
    }
  }
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_i64x2(b[i], b[4 + i], 0x88);
    x[4 + i] = _mm512_shuffle_i64x2(b[i], b[4 + i], 0xdd);
  }
}

// Masks of eight rows to masks of eight lanes.
HWY_INLINE void transpose_masks(const std::uint64_t* rows, std::uint64_t* lanes) {
  alignas(64) static constexpr std::uint8_t order[64] = {
      0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
      50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
      37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63};
  const __m512i x = _mm512_loadu_si512(rows);
  _mm512_storeu_si512(lanes, _mm512_permutexvar_epi8(_mm512_load_si512(order), x));
}

// A block's rows in registers, with the masks of what goes to the next tier.
class BlockEscapes {
 public:
  HWY_INLINE void set(std::size_t row, std::size_t, V8 bytes, M8 escapes) {
    bytes_[row] = bytes.raw;
    masks_[row] = escapes.raw;
  }

  HWY_INLINE std::size_t compress(std::uint8_t* next) {
    std::uint64_t lanes[8];
    transpose_masks(masks_, lanes);
    transpose(bytes_);
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      _mm512_storeu_si512(next + count, _mm512_maskz_compress_epi8(lanes[lane], bytes_[lane]));
      count += static_cast<std::size_t>(_mm_popcnt_u64(lanes[lane]));
    }
    return count;
  }

  // Takes the v of the escapes off the bytes, which are base + code, and stores the block.
  HWY_INLINE std::size_t expand_and_subtract(const std::uint8_t* next, std::uint8_t* plane) {
    std::uint64_t lanes[8];
    transpose_masks(masks_, lanes);
    __m512i v[8];
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      v[lane] = _mm512_maskz_expand_epi8(lanes[lane], _mm512_loadu_si512(next + count));
      count += static_cast<std::size_t>(_mm_popcnt_u64(lanes[lane]));
    }
    transpose(v);
    for (std::size_t row = 0; row < 8; ++row) {
      _mm512_storeu_si512(plane + 64 * row, _mm512_sub_epi8(bytes_[row], v[row]));
    }
    return count;
  }

 private:
  __m512i bytes_[8];
  std::uint64_t masks_[8];
};
#else
// A block's rows in memory, with the masks of what goes to the next tier, for groups of eight.
class BlockEscapes {
 public:
  HWY_INLINE void set(std::size_t row, std::size_t column, V8 bytes, M8 escapes) {
    hn::StoreU(bytes, D8(), bytes_ + 64 * row + column);
    hn::StoreMaskBits(D8(), escapes, masks_[row] + column / 8);
  }

  HWY_INLINE std::size_t compress(std::uint8_t* next) {
    std::uint8_t* to = next;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      for (std::size_t row = 0; row < 8; ++row) {
        to = compress_group(bytes_ + 64 * row + 8 * lane, masks_[row][lane], to);
      }
    }
    return static_cast<std::size_t>(to - next);
  }

  HWY_INLINE std::size_t expand_and_subtract(const std::uint8_t* next, std::uint8_t* plane) {
    const hn::FixedTag<std::uint8_t, 8> d;
    const std::uint8_t* from = next;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      for (std::size_t row = 0; row < 8; ++row) {
        const std::size_t at = 64 * row + 8 * lane;
        const auto v = expand_group(from, masks_[row][lane]);
        hn::StoreU(hn::Sub(hn::LoadU(d, bytes_ + at), v), d, plane + at);
      }
    }
    return static_cast<std::size_t>(from - next);
  }

 private:
  HWY_ALIGN std::uint8_t bytes_[block_values];
  HWY_ALIGN std::uint8_t masks_[8][16];  // StoreMaskBits may touch 8 bytes
};
#endif

template <int tier>
HWY_INLINE V8 codes_of(V8 v) {
  const D8 d8;
  const auto three = hn::Set(d8, 3);
  if constexpr (tier == 1) return hn::Min(hn::Sub(three, v), three);
  if constexpr (tier == 2) return hn::Min(hn::SaturatedSub(v, three), three);
  if constexpr (tier == 3) return hn::Min(hn::Sub(v, hn::Set(d8, 6)), three);
  const auto low = hn::Min(hn::Sub(v, hn::Set(d8, 9)), three);  // 9, 10, and else 2 or 3
  const auto last = hn::IfThenElse(hn::Eq(v, hn::Set(d8, 255)), hn::Set(d8, 2), three);
  return hn::IfThenElse(hn::Gt(hn::Set(d8, 2), low), low, last);
}

#if OFFRAMP_EXACT_VBMI2
// The SWAR of pack_codes on eight groups of eight.
template <int tier>
HWY_INLINE __m128i pack_code_groups(__m512i x) {
  const auto fold = [](__m512i y, int shift, long long mask) {
    return _mm512_and_si512(_mm512_or_si512(y, _mm512_srli_epi64(y, static_cast<unsigned>(shift))),
                            _mm512_set1_epi64(mask));
  };
  if constexpr (tier == 2) {
    x = fold(fold(x, 30, 0x0f0f0f0f), 4, 0x00ff00ff);
    x = fold(x, 8, 0xffff);
  } else {
    x = fold(fold(x, 6, 0x000f000f000f000f), 12, 0x000000ff000000ff);
    x = fold(x, 24, 0xffff);
  }
  return _mm512_cvtepi64_epi16(x);
}

template <int tier>
std::size_t encode_tier_of(const std::uint8_t* v, std::size_t n, std::uint8_t* codes,
                           std::uint8_t* next) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < n; k += 64) {
    const __mmask64 valid = n - k >= 64 ? ~0ull : (1ull << (n - k)) - 1;
    const __m512i x = _mm512_loadu_si512(v + k);
    const __m512i code = _mm512_maskz_mov_epi8(valid, codes_of<tier>(V8{x}).raw);
    const __mmask64 escapes = _mm512_cmpeq_epi8_mask(code, _mm512_set1_epi8(3));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + k / 4), pack_code_groups<tier>(code));
    _mm512_storeu_si512(next + count, _mm512_maskz_compress_epi8(escapes, x));
    count += static_cast<std::size_t>(_mm_popcnt_u64(escapes));
  }
  return count;
}

template <int tier>
void decode_tier_of(const std::uint8_t* codes, std::size_t n, const std::uint8_t* next,
                    std::uint8_t* v) {
  const __m512i shifts = _mm512_set1_epi64(tier == 2 ? 0x0e0a06020c080400 : 0x0e0c0a0806040200);
  const __m512i table = _mm512_broadcast_i32x4(_mm_set1_epi32(std::bit_cast<int>(v_of_code[tier])));
  const __m512i three = _mm512_set1_epi8(3);
  for (std::size_t k = 0; k < n; k += 64) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + k / 4));
    const __m512i code = _mm512_and_si512(
        _mm512_multishift_epi64_epi8(shifts, _mm512_cvtepu16_epi64(packed)), three);
    const __mmask64 escapes = _mm512_cmpeq_epi8_mask(code, three);
    const __m512i x = _mm512_maskz_expand_epi8(escapes, _mm512_loadu_si512(next));
    _mm512_storeu_si512(v + k, _mm512_or_si512(x, _mm512_shuffle_epi8(table, code)));
    next += _mm_popcnt_u64(escapes);
  }
}
#else
template <int tier>
std::size_t encode_tier_of(const std::uint8_t* v, std::size_t n, std::uint8_t* codes,
                           std::uint8_t* next) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  HWY_ALIGN std::uint8_t code_bytes[64];
  std::uint8_t masks[16];
  std::uint8_t* to = next;
  for (std::size_t k = 0; k < n; k += lanes) {
    const std::size_t valid = std::min(n - k, lanes);
    const auto code =
        hn::IfThenElseZero(hn::FirstN(d8, valid), codes_of<tier>(hn::LoadU(d8, v + k)));
    hn::Store(code, d8, code_bytes);
    hn::StoreMaskBits(d8, hn::Eq(code, hn::Set(d8, 3)), masks);
    for (std::size_t t = 0; t < valid; t += 8) {
      const auto x = load<std::uint64_t>(code_bytes + t);
      store(codes + (k + t) / 4, tier == 2 ? pack_tier2_codes(x) : pack_codes(x));
      to = compress_group(v + k + t, masks[t / 8], to);
    }
  }
  return static_cast<std::size_t>(to - next);
}

template <int tier>
void decode_tier_of(const std::uint8_t* codes, std::size_t n, const std::uint8_t* next,
                    std::uint8_t* v) {
  const hn::FixedTag<std::uint8_t, 8> d;
  for (std::size_t k = 0; k < n; k += 8) {
    auto packed = load<std::uint16_t>(codes + k / 4);
    if (tier == 2) packed = plain_order(packed);
    const std::uint64_t known =
        v_of_codes[tier][packed & 0xff] | std::uint64_t{v_of_codes[tier][packed >> 8]} << 32;
    const auto known_bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(&known));
    hn::StoreU(hn::Or(known_bytes, expand_group(next, escape_mask(packed))), d, v + k);
  }
}
#endif

}  // namespace offramp::exact::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // OFFRAMP_EXACT_SIMD_LANES_INL_H_
