// SPDX-License-Identifier: Apache-2.0
// Included once for each target by dense_simd.cpp: the plan and the extent as lanes.
#if defined(OFFRAMP_DENSE_SETUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_SETUP_INL_H_
#undef OFFRAMP_DENSE_SETUP_INL_H_
#else
#define OFFRAMP_DENSE_SETUP_INL_H_
#endif

#include "codec/exact_dense/dense_kernels.hpp"
#include "codec/exact_dense/dense_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

#if OFFRAMP_DENSE_HAS_LANES

HWY_INLINE Vector set(std::uint32_t value) { return hn::Set(Tag(), value); }

/// The plan and the extent as lanes; a lane's halves are its channels.
struct Setup {
  Lanes tops, change, row_valid, last_valid;
  std::uint32_t rows;

  HWY_INLINE const Lanes& valid(std::uint32_t row) const {
    return row + 1 == rows ? last_valid : row_valid;
  }
};

HWY_INLINE Lanes lanes_of_halves(auto&& half) {
  alignas(64) std::uint16_t halves[pitch];
  for (std::uint32_t c = 0; c < pitch; ++c) halves[c] = static_cast<std::uint16_t>(half(c));
  return load_lanes(halves);
}

Setup make_setup(TileExtent extent, const TilePlan& plan) {
  const std::uint32_t last = extent.values - (extent.rows - 1) * extent.width;
  const auto below = [](std::uint32_t limit) {
    return lanes_of_halves([limit](std::uint32_t c) { return c < limit ? 0xffff : 0; });
  };
  return {lanes_of_halves([&](std::uint32_t c) { return plan.top[c]; }),
          lanes_of_halves([&](std::uint32_t c) { return plan.change[c] != 0 ? 0x8000 : 0; }),
          below(extent.width), below(last), extent.rows};
}

HWY_INLINE Lanes class_halves(const TilePlan& plan, auto&& of_class) {
  return lanes_of_halves([&](std::uint32_t c) { return of_class(plan.class_of[c]); });
}

/// Picks a half of each lane.
template <int half>
HWY_INLINE Vector take_half(Vector v) {
  if constexpr (half == 0) return hn::And(v, set(0xffff));
  return hn::ShiftRight<16>(v);
}

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_SETUP_INL_H_
