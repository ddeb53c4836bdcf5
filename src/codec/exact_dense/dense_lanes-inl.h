// SPDX-License-Identifier: Apache-2.0
// Included once for each target: 32 lanes as vectors.
// kind.)
#if defined(OFFRAMP_DENSE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_LANES_INL_H_
#undef OFFRAMP_DENSE_LANES_INL_H_
#else
#define OFFRAMP_DENSE_LANES_INL_H_
#endif

#include "codec/exact_dense/dense_format.hpp"

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

/// Targets with a gather; the others take the reference loops.
#undef OFFRAMP_DENSE_HAS_LANES
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define OFFRAMP_DENSE_HAS_LANES 1
#else
#define OFFRAMP_DENSE_HAS_LANES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if OFFRAMP_DENSE_HAS_LANES

#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t lanes_a_vector = 16;
#else
inline constexpr std::size_t lanes_a_vector = 8;
#endif
inline constexpr std::size_t vectors = max_lanes / lanes_a_vector;

using Tag = hn::FixedTag<std::uint32_t, lanes_a_vector>;
using Halves = hn::Repartition<std::uint16_t, Tag>;  // both channels of a lane
using SignedTag = hn::RebindToSigned<Tag>;
using Vector = hn::Vec<Tag>;
using Mask = hn::Mask<Tag>;

/// One 32-bit number for each of the 32 lanes. The loops over them have constant bounds and unroll.
struct Lanes {
  Vector part[vectors];

  Vector& operator[](std::size_t i) { return part[i]; }
  const Vector& operator[](std::size_t i) const { return part[i]; }
};

HWY_INLINE Lanes load_lanes(const void* from) {
  Lanes lanes;
  for (std::size_t i = 0; i < vectors; ++i) {
    lanes[i] = hn::LoadU(Tag(), static_cast<const std::uint32_t*>(from) + i * lanes_a_vector);
  }
  return lanes;
}

HWY_INLINE void store_lanes(const Lanes& lanes, void* to) {
  for (std::size_t i = 0; i < vectors; ++i) {
    hn::StoreU(lanes[i], Tag(), static_cast<std::uint32_t*>(to) + i * lanes_a_vector);
  }
}

HWY_INLINE Lanes set_lanes(std::uint32_t value) {
  Lanes lanes;
  for (std::size_t i = 0; i < vectors; ++i) lanes[i] = hn::Set(Tag(), value);
  return lanes;
}

HWY_INLINE Vector add_halves(Vector a, Vector b) {
  const Halves h;
  return hn::BitCast(Tag(), hn::Add(hn::BitCast(h, a), hn::BitCast(h, b)));
}

HWY_INLINE Vector subtract_halves(Vector a, Vector b) {
  const Halves h;
  return hn::BitCast(Tag(), hn::Sub(hn::BitCast(h, a), hn::BitCast(h, b)));
}

HWY_INLINE Vector min_halves(Vector a, Vector b) {
  const Halves h;
  return hn::BitCast(Tag(), hn::Min(hn::BitCast(h, a), hn::BitCast(h, b)));
}

/// All ones in the halves that are equal.
HWY_INLINE Vector equal_halves(Vector a, Vector b) {
  const Halves h;
  const auto equal = hn::BitCast(h, a) == hn::BitCast(h, b);
  return hn::BitCast(Tag(), hn::VecFromMask(h, equal));
}

HWY_INLINE bool any_set(Vector v) { return !hn::AllTrue(Tag(), v == hn::Zero(Tag())); }

/// The high 32 bits of hi:lo << (n mod 32). x86 shifts by 32 give 0, as this needs.
HWY_INLINE Vector funnel_left(Vector hi, Vector lo, Vector n) {
#if HWY_TARGET <= HWY_AVX3_DL
  return Vector{_mm512_shldv_epi32(hi.raw, lo.raw, n.raw)};
#else
  const Vector by = hn::And(n, hn::Set(Tag(), 31));
  return hn::Or(hn::Shl(hi, by), hn::Shr(lo, hn::Sub(hn::Set(Tag(), 32), by)));
#endif
}

/// The low 32 bits of hi:lo >> n, n below 32.
HWY_INLINE Vector funnel_right(Vector lo, Vector hi, Vector n) {
#if HWY_TARGET <= HWY_AVX3_DL
  return Vector{_mm512_shrdv_epi32(lo.raw, hi.raw, n.raw)};
#else
  return hn::Or(hn::Shr(lo, n), hn::Shl(hi, hn::Sub(hn::Set(Tag(), 32), n)));
#endif
}

HWY_INLINE Vector gather(const std::uint32_t* table, Vector index) {
  return hn::GatherIndex(Tag(), table, hn::BitCast(SignedTag(), index));
}

/// Of 16-bit entries, which come in the upper halves; the lower ones have what lies before them.
HWY_INLINE Vector gather_upper(const std::uint16_t* table, Vector index) {
  const auto* from = reinterpret_cast<const int*>(table - 1);
#if HWY_TARGET <= HWY_AVX3
  return Vector{_mm512_i32gather_epi32(index.raw, from, 2)};
#else
  return Vector{_mm256_i32gather_epi32(from, index.raw, 2)};
#endif
}

/// 10 - floor(log2 x) of the x in the upper 10 bits, 1 to 1023.
HWY_INLINE Vector bits_to_take(Vector entry) {
#if HWY_TARGET <= HWY_AVX3
  // Every CPU of this target has AVX512CD, but Highway 1.0 does not let the compiler use it.
  __m512i zeros;
  asm("vplzcntd %1, %0" : "=v"(zeros) : "v"(entry.raw));
  return hn::Add(Vector{zeros}, hn::Set(Tag(), 1));
#else
  const hn::RebindToFloat<Tag> floats;
  const auto x = hn::ConvertTo(floats, hn::BitCast(SignedTag(), hn::ShiftRight<22>(entry)));
  return hn::Sub(hn::Set(Tag(), 127 + 10), hn::ShiftRight<23>(hn::BitCast(Tag(), x)));
#endif
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE unsigned mask_bits(Mask mask) { return mask.raw; }

HWY_INLINE Vector compress(Vector v, unsigned mask) {
  return Vector{_mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), v.raw)};
}

/// The lane of the mask's i-th set bit gets number i, the others 0.
HWY_INLINE Vector expand(Vector v, unsigned mask) {
  // Keeps the load apart: the form that reads memory is microcoded on Zen 4 and 5 (a third of
  // decoding).
  asm("" : "+v"(v.raw));
  return Vector{_mm512_maskz_expand_epi32(static_cast<__mmask16>(mask), v.raw)};
}

#else

HWY_INLINE unsigned mask_bits(Mask mask) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
}

struct Orders {
  std::uint8_t compress[256][8];
  std::uint8_t expand[256][8];
};

constexpr Orders make_orders() {
  Orders orders{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint8_t rank = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      orders.expand[mask][lane] = rank;
      orders.compress[mask][rank++] = lane;
    }
  }
  return orders;
}
inline constexpr Orders orders = make_orders();

HWY_INLINE Vector permute(Vector v, const std::uint8_t* order) {
  const __m256i index =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(order)));
  return Vector{_mm256_permutevar8x32_epi32(v.raw, index)};
}

HWY_INLINE Vector compress(Vector v, unsigned mask) { return permute(v, orders.compress[mask]); }

HWY_INLINE Vector expand(Vector v, unsigned mask) {
  const Vector bit = hn::Shl(hn::Set(Tag(), 1), hn::Iota(Tag(), 0));
  const Mask wanted = hn::TestBit(hn::Set(Tag(), mask), bit);
  return hn::IfThenElseZero(wanted, permute(v, orders.expand[mask]));
}

#endif  // HWY_TARGET <= HWY_AVX3

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_LANES_INL_H_
