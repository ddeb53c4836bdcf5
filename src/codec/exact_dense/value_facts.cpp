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

constexpr std::uint32_t block_values = 128;

/// Plain loops, which the compiler makes vectors of. The zeros of one block fit the values' own
/// width.
template <class Bits>
HWY_INLINE void add_block(const std::byte* values, std::uint32_t count, ValueFacts& facts) {
  Bits all_and = static_cast<Bits>(~Bits{0});
  Bits all_or = 0;
  Bits zeros = 0;
  std::uint32_t misfits = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto value = load<Bits>(values + i * sizeof(Bits));
    all_and = static_cast<Bits>(all_and & value);
    all_or = static_cast<Bits>(all_or | value);
    zeros = static_cast<Bits>(zeros + (value == 0));
    if constexpr (sizeof(Bits) == 8) misfits += !has_word(value);
  }
  facts.all_and &= all_and;
  facts.all_or |= all_or;
  facts.zeros += static_cast<std::uint32_t>(zeros);
  facts.exponents_fit &= misfits == 0;
}

template <class Bits>
ValueFacts find(const std::byte* values, std::uint32_t count) {
  ValueFacts facts;
  std::uint32_t i = 0;
  for (; i + block_values <= count; i += block_values) {
    add_block<Bits>(values + i * sizeof(Bits), block_values, facts);
  }
  add_block<Bits>(values + i * sizeof(Bits), count - i, facts);
  facts.all_and &= static_cast<Bits>(~Bits{0});
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
      return find<std::uint64_t>(values, count);
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
