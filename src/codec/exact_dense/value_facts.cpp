// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/exact_dense/value_facts.cpp"
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
#include <hwy/foreach_target.h>
// The above must come first: it includes this file once for each target.
#include "codec/exact_dense/float_words.hpp"
#include "core/bytes.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Bits>
HWY_INLINE void add_value(Bits value, ValueFacts& facts) {
  facts.all_and &= value;
  facts.all_or |= value;
  facts.zeros += value == 0;
  if constexpr (sizeof(Bits) == 8) facts.exponents_fit &= has_word(value);
}

/// Two vectors in turn, so that loads do not wait for sums. The zeros of a block fit the lanes.
template <class Bits>
ValueFacts find(const std::byte* values, std::uint32_t count) {
  const hn::ScalableTag<Bits> tag;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(tag));
  const auto* from = reinterpret_cast<const Bits*>(values);
  constexpr std::uint32_t block_steps = 100;
  auto ands = hn::Set(tag, static_cast<Bits>(~Bits{0})), other_ands = ands;
  auto ors = hn::Zero(tag), other_ors = ors;
  ValueFacts facts;
  std::uint32_t i = 0;
  while (i + 2 * lanes <= count) {
    auto zeros = hn::Zero(tag);
    for (std::uint32_t step = 0; step < block_steps && i + 2 * lanes <= count; ++step) {
      const auto value = hn::LoadU(tag, from + i);
      const auto other = hn::LoadU(tag, from + i + lanes);
      ands = hn::And(ands, value);
      other_ands = hn::And(other_ands, other);
      ors = hn::Or(ors, value);
      other_ors = hn::Or(other_ors, other);
      zeros = hn::Sub(zeros, hn::VecFromMask(tag, value == hn::Zero(tag)));
      zeros = hn::Sub(zeros, hn::VecFromMask(tag, other == hn::Zero(tag)));
      i += 2 * lanes;
    }
    HWY_ALIGN Bits counts[hn::MaxLanes(tag)];
    hn::Store(zeros, tag, counts);
    for (std::uint32_t l = 0; l < lanes; ++l) facts.zeros += static_cast<std::uint32_t>(counts[l]);
  }
  HWY_ALIGN Bits folded[hn::MaxLanes(tag)];
  hn::Store(hn::And(ands, other_ands), tag, folded);
  for (std::uint32_t l = 0; l < lanes; ++l) facts.all_and &= folded[l];
  hn::Store(hn::Or(ors, other_ors), tag, folded);
  for (std::uint32_t l = 0; l < lanes; ++l) facts.all_or |= folded[l];
  for (; i < count; ++i) add_value<Bits>(load<Bits>(values + i * sizeof(Bits)), facts);
  return facts;
}

/// 64 bits: exponents are looked at too.
ValueFacts find_64(const std::byte* values, std::uint32_t count) {
  ValueFacts facts;
  for (std::uint32_t i = 0; i < count; ++i) add_value(load<std::uint64_t>(values + i * 8), facts);
  return facts;
}

ValueFacts find_of_size(std::size_t size, const std::byte* values, std::uint32_t count) {
  switch (size) {
    case 1:
      return find<std::uint8_t>(values, count);
    case 2:
      return find<std::uint16_t>(values, count);
    case 4:
      return find<std::uint32_t>(values, count);
    default:
      return find_64(values, count);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::exact_dense {
HWY_EXPORT(find_of_size);

ValueFacts find_facts(DType dtype, const std::byte* values, std::uint32_t count) {
  return HWY_DYNAMIC_DISPATCH(find_of_size)(size_of(dtype), values, count);
}
}  // namespace offramp::exact_dense
#endif
