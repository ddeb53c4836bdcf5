// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/exact_dense/value_facts.cpp"
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
#include <hwy/foreach_target.h>
// The above must come first: it includes this file once for each target.
#include "codec/exact_dense/float_words.hpp"
#include "codec/tiles/words.hpp"
#include "core/bytes.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

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

template <class Bits, bool copies>
ValueFacts find(tiles::ConstLines values, std::uint32_t count, std::byte* gathered) {
  const hn::CappedTag<Bits, tiles::tile_width> tag;
  const std::size_t lanes = hn::Lanes(tag);
  // Zeros are counted in the lanes for so many values: 255 steps, which fits bytes too.
  const std::size_t block = 255 / (tiles::tile_width / lanes) * tiles::tile_width;
  auto ands = hn::Set(tag, static_cast<Bits>(~Bits{0}));
  auto ors = hn::Zero(tag);
  HWY_ALIGN Bits folded[hn::MaxLanes(tag)];
  ValueFacts facts;
  std::size_t i = 0;
  while (i + tiles::tile_width <= count) {
    auto zeros = hn::Zero(tag);
    const std::size_t end = std::min<std::size_t>(i + block, count);
    for (; i + tiles::tile_width <= end; i += tiles::tile_width, values.first += values.pitch) {
      const auto* line = reinterpret_cast<const Bits*>(values.first);
      for (std::size_t c = 0; c < tiles::tile_width; c += lanes) {
        const auto value = hn::LoadU(tag, line + c);
        if constexpr (copies) hn::StoreU(value, tag, reinterpret_cast<Bits*>(gathered) + i + c);
        ands = hn::And(ands, value);
        ors = hn::Or(ors, value);
        zeros = hn::Sub(zeros, hn::VecFromMask(tag, value == hn::Zero(tag)));
      }
    }
    hn::Store(zeros, tag, folded);
    for (std::size_t l = 0; l < lanes; ++l) facts.zeros += static_cast<std::uint32_t>(folded[l]);
  }
  hn::Store(ands, tag, folded);
  for (std::size_t l = 0; l < lanes; ++l) facts.all_and &= folded[l];
  hn::Store(ors, tag, folded);
  for (std::size_t l = 0; l < lanes; ++l) facts.all_or |= folded[l];
  if constexpr (copies) {
    std::memcpy(gathered + i * sizeof(Bits), values.first, (count - i) * sizeof(Bits));
  }
  for (const std::byte* left = values.first; i < count; ++i, left += sizeof(Bits)) {
    add_value(load<Bits>(left), facts);
  }
  return facts;
}

/// 64 bits: exponents are looked at too.
template <bool copies>
ValueFacts find_64(tiles::ConstLines values, std::uint32_t count, std::byte* gathered) {
  ValueFacts facts;
  for_each_run(values, count, 8, [&](std::size_t first, std::size_t size) {
    const std::byte* from = values.at(first, 8);
    if constexpr (copies) std::memcpy(gathered + first * 8, from, size * 8);
    for (std::size_t i = 0; i < size; ++i) add_value(load<std::uint64_t>(from + i * 8), facts);
  });
  return facts;
}

ValueFacts find_of_size(std::size_t size, tiles::ConstLines values, std::uint32_t count,
                        std::byte* gathered) {
  const auto find_in = [&]<bool copies>(std::bool_constant<copies>) {
    return tiles::visit_word(size, [&]<class Bits>(Bits) {
      if constexpr (sizeof(Bits) == 8) return find_64<copies>(values, count, gathered);
      if constexpr (sizeof(Bits) < 8) return find<Bits, copies>(values, count, gathered);
    });
  };
  return values.has_gaps(size) ? find_in(std::true_type{}) : find_in(std::false_type{});
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::exact_dense {
HWY_EXPORT(find_of_size);

ValueFacts find_facts(DType dtype, tiles::ConstLines values, std::uint32_t count,
                      std::byte* gathered) {
  return HWY_DYNAMIC_DISPATCH(find_of_size)(size_of(dtype), values, count, gathered);
}
}  // namespace offramp::exact_dense
#endif
