// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set and chosen at run time.
// clang-format off: foreach_target.h includes this file again and must come first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frames/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "frames/row_kernels.hpp"

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace offramp::frames::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;

constexpr std::size_t max_lanes = HWY_MAX_BYTES / sizeof(float);
static_assert(max_lanes <= slack);

// Sources: how a lane becomes float32, exactly.
struct Fp32 {
  using Lane = float;
  static constexpr bool has_nan = true;
  static VF value(VF lanes) { return lanes; }
};

struct Bf16 {
  using Lane = std::uint16_t;
  static constexpr bool has_nan = true;
  template <class V>
  static VF value(V lanes) {
    return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), lanes)));
  }
};

struct Fp16 {
  using Lane = std::uint16_t;
  static constexpr bool has_nan = true;
  template <class V>
  static VF value(V lanes) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
    return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), lanes));
#else  // elsewhere Highway's own knows no infinities
    const DU du;
    const DF df;
    const auto bits = hn::PromoteTo(du, lanes);
    const auto size = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
    const auto exponent = hn::And(size, hn::Set(du, 0x0f800000u));
    const auto normal = hn::Add(size, hn::Set(du, 112u << 23));
    const auto endless = hn::Add(size, hn::Set(du, 224u << 23));
    const auto tiny = hn::BitCast(
        du,
        hn::Sub(hn::BitCast(df, hn::Add(size, hn::Set(du, 113u << 23))), hn::Set(df, 0x1p-14F)));
    auto word = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), tiny, normal);
    word = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x0f800000u)), endless, word);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
    return hn::BitCast(df, hn::Or(word, sign));
#endif
  }
};

struct U16 {
  using Lane = std::uint16_t;
  static constexpr bool has_nan = false;
  template <class V>
  static VF value(V lanes) {
    return hn::ConvertTo(DF(), hn::PromoteTo(DI(), lanes));
  }
};

struct U8 {
  using Lane = std::uint8_t;
  static constexpr bool has_nan = false;
  template <class V>
  static VF value(V lanes) {
    return hn::ConvertTo(DF(), hn::PromoteTo(DI(), lanes));
  }
};

struct Scaler {
  VF low;
  VF high;
  VF scale;
  explicit Scaler(const Scaling& by)
      : low(hn::Set(DF(), by.low)), high(hn::Set(DF(), by.high)), scale(hn::Set(DF(), by.scale)) {}
};

template <class Source, class V>
HWY_INLINE VF unit(V lanes, const Scaler& by) {
  const VF value = Source::value(lanes);
  // What Max makes of NaN differs.
  const VF above = Source::has_nan ? hn::IfThenElse(hn::Gt(value, by.low), value, by.low)
                                   : hn::Max(value, by.low);
  return hn::Mul(hn::Sub(hn::Min(above, by.high), by.low), by.scale);
}

// The last pixels of a piece, where whole vectors would be read behind it.
template <class Lane, std::size_t channels>
class Tail {
 public:
  Tail(const std::byte* from, std::size_t pixels) {
    std::memcpy(lanes_, from, pixels * channels * sizeof(Lane));
  }
  const Lane* lanes() const { return lanes_; }

 private:
  HWY_ALIGN Lane lanes_[max_lanes * channels]{};
};

template <class Source, std::size_t channels, class Piece>
HWY_INLINE void for_pixels(const std::byte* from, std::size_t n, const Piece& piece) {
  using Lane = typename Source::Lane;
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t x = 0;
  for (; x + lanes <= n; x += lanes) {
    piece(reinterpret_cast<const Lane*>(from + x * channels * sizeof(Lane)), x);
  }
  if (x < n) {
    const Tail<Lane, channels> tail(from + x * channels * sizeof(Lane), n - x);
    piece(tail.lanes(), x);
  }
}

template <class Source>
void unpack_one(const std::byte* from, std::size_t n, const Scaling& by,
                const Planes& to) noexcept {
  const hn::Rebind<typename Source::Lane, DF> d;
  const Scaler scaler(by);
  float* HWY_RESTRICT const plane = to[0];
  for_pixels<Source, 1>(from, n, [&](const auto* at, std::size_t x) HWY_ATTR {
    hn::StoreU(unit<Source>(hn::LoadU(d, at), scaler), DF(), plane + x);
  });
}

template <class Source>
void unpack_three(const std::byte* from, std::size_t n, const Scaling& by,
                  const Planes& to) noexcept {
  const hn::Rebind<typename Source::Lane, DF> d;
  const Scaler scaler(by);
  for_pixels<Source, 3>(from, n, [&](const auto* at, std::size_t x) HWY_ATTR {
    hn::Vec<decltype(d)> r, g, b;
    hn::LoadInterleaved3(d, at, r, g, b);
    hn::StoreU(unit<Source>(r, scaler), DF(), to[0] + x);
    hn::StoreU(unit<Source>(g, scaler), DF(), to[1] + x);
    hn::StoreU(unit<Source>(b, scaler), DF(), to[2] + x);
  });
}

template <class Source>
void unpack_four(const std::byte* from, std::size_t n, const Scaling& by,
                 const Planes& to) noexcept {
  const hn::Rebind<typename Source::Lane, DF> d;
  const Scaler scaler(by);
  for_pixels<Source, 4>(from, n, [&](const auto* at, std::size_t x) HWY_ATTR {
    hn::Vec<decltype(d)> r, g, b, a;
    hn::LoadInterleaved4(d, at, r, g, b, a);
    hn::StoreU(unit<Source>(r, scaler), DF(), to[0] + x);
    hn::StoreU(unit<Source>(g, scaler), DF(), to[1] + x);
    hn::StoreU(unit<Source>(b, scaler), DF(), to[2] + x);
    if (to[3]) hn::StoreU(unit<Source>(a, scaler), DF(), to[3] + x);
  });
}

// Stores codes that are not to be written behind `left`.
template <class Code>
HWY_INLINE void store_codes(VF codes, std::byte* to, std::size_t left) {
  const hn::Rebind<Code, DF> d;
  const auto lanes = hn::DemoteTo(d, hn::NearestInt(codes));
  auto* const out = reinterpret_cast<Code*>(to);
  if (left >= hn::Lanes(DF())) {
    hn::StoreU(lanes, d, out);
  } else {
    HWY_ALIGN Code tail[max_lanes];
    hn::Store(lanes, d, tail);
    std::memcpy(out, tail, left * sizeof(Code));
  }
}

template <class Code>
constexpr float top_of = sizeof(Code) == 1 ? 255.0F : 65535.0F;

template <class Source, class Code>
void flat(const std::byte* from, std::size_t n, const Scaling& by, std::byte* to) noexcept {
  const hn::Rebind<typename Source::Lane, DF> d;
  const Scaler scaler(by);
  const VF top = hn::Set(DF(), top_of<Code>);
  for_pixels<Source, 1>(from, n, [&](const auto* at, std::size_t x) HWY_ATTR {
    store_codes<Code>(hn::Mul(unit<Source>(hn::LoadU(d, at), scaler), top), to + x * sizeof(Code),
                      n - x);
  });
}

// Codes of one channel, whole vectors of them.
template <class Code>
HWY_INLINE void codes(const float* from, std::size_t n, Code* to) {
  const hn::Rebind<Code, DF> d;
  const VF top = hn::Set(DF(), top_of<Code>);
  for (std::size_t x = 0; x < n; x += hn::Lanes(DF())) {
    hn::StoreU(hn::DemoteTo(d, hn::NearestInt(hn::Mul(hn::LoadU(DF(), from + x), top))), d, to + x);
  }
}

template <class Code>
void pack(const ConstPlanes& from, std::size_t n, std::size_t channels, std::byte* to) noexcept {
  constexpr std::size_t part = 128;
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN Code planes[4][part + slack];
  HWY_ALIGN Code tail[4 * HWY_MAX_BYTES / sizeof(Code)];
  for (std::size_t begin = 0; begin < n; begin += part) {
    const std::size_t count = std::min(part, n - begin);
    for (std::size_t c = 0; c < channels; ++c) codes(from[c] + begin, count, planes[c]);
    for (std::size_t x = 0; x < count; x += lanes) {
      const std::size_t left = std::min(lanes, count - x);
      auto* const out = reinterpret_cast<Code*>(to) + (begin + x) * channels;
      Code* const whole = left == lanes ? out : tail;
      const auto plane = [&](std::size_t c) HWY_ATTR { return hn::LoadU(d, planes[c] + x); };
      if (channels == 1) {
        hn::StoreU(plane(0), d, whole);
      } else if (channels == 3) {
        hn::StoreInterleaved3(plane(0), plane(1), plane(2), d, whole);
      } else {
        hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d, whole);
      }
      if (whole != out) std::memcpy(out, tail, left * channels * sizeof(Code));
    }
  }
}

struct Row {
  VF r;
  VF g;
  VF b;
  VF offset;
  explicit Row(const YuvRow& row)
      : r(hn::Set(DF(), row.r)),
        g(hn::Set(DF(), row.g)),
        b(hn::Set(DF(), row.b)),
        offset(hn::Set(DF(), row.offset)) {}
};

HWY_INLINE VF yuv_codes(const Row& row, VF top, VF r, VF g, VF b) {
  const VF red_green = hn::Add(hn::Mul(row.r, r), hn::Mul(row.g, g));
  const VF product = hn::Add(red_green, hn::Mul(row.b, b));
  return hn::Min(hn::Add(product, row.offset), top);
}

template <class Code>
void yuv(const ConstPlanes& from, std::size_t n, const YuvRow& row, float top,
         std::byte* to) noexcept {
  const Row by(row);
  const VF most = hn::Set(DF(), top);
  for (std::size_t x = 0; x < n; x += hn::Lanes(DF())) {
    const VF code = yuv_codes(by, most, hn::LoadU(DF(), from[0] + x), hn::LoadU(DF(), from[1] + x),
                              hn::LoadU(DF(), from[2] + x));
    store_codes<Code>(code, to + x * sizeof(Code), n - x);
  }
}

void sum(float* a, const float* b, std::size_t n) noexcept {
  for (std::size_t x = 0; x < n; x += hn::Lanes(DF())) {
    hn::StoreU(hn::Add(hn::LoadU(DF(), a + x), hn::LoadU(DF(), b + x)), DF(), a + x);
  }
}

// Columns 2x - 1, 2x and 2x + 1 by weights of 1, 2 and 1.
HWY_INLINE VF three_columns(const float* from) {
  VF left, middle, right, beyond;
  hn::LoadInterleaved2(DF(), from, left, middle);
  hn::LoadInterleaved2(DF(), from + 2, right, beyond);
  return hn::Add(hn::Add(left, right), hn::Add(middle, middle));
}

template <class Code>
void half(const ConstPlanes& from, std::size_t n, const YuvMatrix& matrix, std::byte* u,
          std::byte* v) noexcept {
  const Row u_row(matrix.u);
  const Row v_row(matrix.v);
  const VF top = hn::Set(DF(), matrix.top);
  for (std::size_t x = 0; x < n; x += hn::Lanes(DF())) {
    const VF r = three_columns(from[0] + 2 * x);
    const VF g = three_columns(from[1] + 2 * x);
    const VF b = three_columns(from[2] + 2 * x);
    store_codes<Code>(yuv_codes(u_row, top, r, g, b), u + x * sizeof(Code), n - x);
    store_codes<Code>(yuv_codes(v_row, top, r, g, b), v + x * sizeof(Code), n - x);
  }
}

template <class Source>
constexpr std::array<RowKernels::Unpack, 3> unpack_of() {
  return {unpack_one<Source>, unpack_three<Source>, unpack_four<Source>};
}

const RowKernels* target_kernels() {
  using B = std::uint8_t;
  using W = std::uint16_t;
  static constexpr RowKernels kernels{
      .unpack = {unpack_of<Fp32>(), unpack_of<Fp16>(), unpack_of<Bf16>(), unpack_of<U16>(),
                 unpack_of<U8>()},
      .flat8 = {flat<Fp32, B>, flat<Fp16, B>, flat<Bf16, B>, flat<U16, B>, flat<U8, B>},
      .flat16 = {flat<Fp32, W>, flat<Fp16, W>, flat<Bf16, W>, flat<U16, W>, flat<U8, W>},
      .pack8 = pack<B>,
      .pack16 = pack<W>,
      .yuv8 = yuv<B>,
      .yuv16 = yuv<W>,
      .sum = sum,
      .half8 = half<B>,
      .half16 = half<W>,
  };
  return &kernels;
}

}  // namespace offramp::frames::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::frames {
HWY_EXPORT(target_kernels);

const RowKernels& row_kernels() noexcept { return *HWY_DYNAMIC_DISPATCH(target_kernels)(); }

}  // namespace offramp::frames
#endif
