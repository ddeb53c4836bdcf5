// SPDX-License-Identifier: Apache-2.0
// The fast kernels, compiled once for each instruction set and chosen at run time. The steps that
// have no good form in every instruction set are in exact_simd_lanes-inl.h.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
// clang-format off: foreach_target.h includes this file again and must come first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/exact/exact_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "codec/exact/exact_kernels.hpp"
#include "codec/exact/exact_simd_lanes-inl.h"
#include "codec/exact/exact_view.hpp"

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
const Kernels* target_kernels() { return &reference_kernels(); }
#else

using tiles::ConstLines;
using tiles::Lines;

template <class View>
void split_loop(const std::byte* values, std::size_t n, const Planes& planes) {
  using Word = typename View::Word;
  for (std::size_t p = 0; p < View::planes; ++p) {
    std::uint8_t* HWY_RESTRICT out = planes[p];
    for (std::size_t k = 0; k < n; ++k) {
      out[k] = View::get(load<Word>(values + k * sizeof(Word)), p);
    }
  }
}

template <class View>
void join_loop(const Planes& planes, std::size_t n, std::byte* HWY_RESTRICT values) {
  using Word = typename View::Word;
  for (std::size_t k = 0; k < n; ++k) {
    Word word = 0;
    for (std::size_t p = 0; p < View::planes; ++p) {
      word = static_cast<Word>(word + View::add(planes[p][k], p));
    }
    store(values + k * sizeof(Word), finish_word<View>(word));
  }
}

BitRange range(const std::uint8_t* plane, std::size_t n) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  auto any = hn::Zero(d8);
  auto all = hn::Set(d8, 0xff);
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    const auto x = hn::LoadU(d8, plane + k);
    any = hn::Or(any, x);
    all = hn::And(all, x);
  }
  HWY_ALIGN std::uint8_t anys[64], alls[64];
  hn::Store(any, d8, anys);
  hn::Store(all, d8, alls);
  BitRange bits;
  for (std::size_t i = 0; i < lanes; ++i) bits.add({anys[i], alls[i]});
  for (; k < n; ++k) bits.add({plane[k], plane[k]});
  return bits;
}

template <class T>
std::size_t count_zeros_of(const std::byte* values, std::size_t n) {
  const hn::Repartition<T, D8> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t zeros = 0, k = 0;
  for (; k + lanes <= n; k += lanes) {
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(values) + k);
    zeros += hn::CountTrue(d, hn::Eq(x, hn::Zero(d)));
  }
  for (; k < n; ++k) zeros += load<T>(values + k * sizeof(T)) == 0;
  return zeros;
}

// Rotated left by one, a pair's exponents are whole bytes, and so are the bits of its planes.
SplitFacts split_bf16_lines(ConstLines values, std::size_t n, const Planes& planes) {
  const D8 d8;
  const D16 d16;
  const hn::Repartition<std::uint32_t, D8> d32;
  const std::size_t lanes = hn::Lanes(d8);
  const auto rotated = [&](auto words) {
    return hn::BitCast(d8, hn::RotateRight<31>(hn::BitCast(d32, words)));
  };
  auto any = hn::Zero(d8);
  auto all = hn::Set(d8, 0xff);
  SplitFacts facts;
  std::size_t first = 0;
  for (; first + tile_width <= n; first += tile_width, values.first += values.pitch) {
    const auto* words = reinterpret_cast<const std::uint16_t*>(values.first);
    for (std::size_t c = 0; c < tile_width; c += lanes) {
      const auto low = hn::LoadU(d16, words + c);
      const auto high = hn::LoadU(d16, words + c + lanes / 2);
      facts.zeros += hn::CountTrue(d16, hn::Eq(low, hn::Zero(d16)));
      facts.zeros += hn::CountTrue(d16, hn::Eq(high, hn::Zero(d16)));
      const auto a = rotated(low), b = rotated(high);
      any = hn::Or(any, hn::Or(a, b));
      all = hn::And(all, hn::And(a, b));
      hn::StoreU(hn::ConcatOdd(d8, b, a), d8, planes[0] + first + c);
      hn::StoreU(hn::ConcatEven(d8, b, a), d8, planes[1] + first + c);
    }
  }
  HWY_ALIGN std::uint8_t anys[64], alls[64];
  hn::Store(any, d8, anys);
  hn::Store(all, d8, alls);
  for (std::size_t i = 0; i < lanes; ++i) {
    facts.ranges[1 - i % 2].add({anys[i], alls[i]});
  }
  const std::size_t left = n - first;
  const Planes rest = planes_from(planes, first);
  split_bf16(values.first, left, rest);
  for (std::size_t p = 0; p < 2; ++p) facts.ranges[p].add(range(rest[p], left));
  facts.zeros += count_zeros_of<std::uint16_t>(values.first, left);
  return facts;
}

SplitFacts split(DType dtype, bool zigzag, ConstLines values, std::size_t n, const Planes& planes) {
  if (dtype == DType::bf16) return split_bf16_lines(values, n, planes);
  const std::size_t elem_size = size_of(dtype);
  SplitFacts facts;
  visit_view(dtype, zigzag, [&]<class View>() {
    for_each_run(values, n, elem_size, [&](std::size_t first, std::size_t size) {
      const std::byte* from = values.at(first, elem_size);
      split_loop<View>(from, size, planes_from(planes, first));
      facts.zeros += count_zeros_of<typename View::Word>(from, size);
    });
    for (std::size_t p = 0; p < View::planes; ++p) facts.ranges[p] = range(planes[p], n);
  });
  return facts;
}

void join_bf16_lines(const Planes& planes, std::size_t n, Lines values) {
  const D8 d8;
  const hn::Repartition<std::uint32_t, D8> d32;
  const std::size_t lanes = hn::Lanes(d8);
  std::size_t first = 0;
  for (; first + tile_width <= n; first += tile_width, values.first += values.pitch) {
    auto* to = reinterpret_cast<std::uint8_t*>(values.first);
    for (std::size_t c = 0; c < tile_width; c += lanes) {
      const auto rest = hn::LoadU(d8, planes[1] + first + c);
      const auto exponent = hn::LoadU(d8, planes[0] + first + c);
      const auto low = hn::BitCast(d32, hn::InterleaveLower(d8, rest, exponent));
      const auto high = hn::BitCast(d32, hn::InterleaveUpper(d8, rest, exponent));
      store_blocks(hn::BitCast(d8, hn::RotateRight<1>(low)),
                   hn::BitCast(d8, hn::RotateRight<1>(high)), to + 2 * c);
    }
  }
  join_bf16(planes_from(planes, first), n - first, values.first);
}

void join(DType dtype, bool zigzag, const Planes& planes, std::size_t n, Lines values) {
  if (dtype == DType::bf16) return join_bf16_lines(planes, n, values);
  visit_view(dtype, zigzag, [&]<class View>() {
    for_each_run(values, n, size_of(dtype), [&](std::size_t first, std::size_t size) {
      join_loop<View>(planes_from(planes, first), size, values.at(first, size_of(dtype)));
    });
  });
}

// Counters live in registers: 8 at a time suit every instruction set. A column beyond the width
// counts what lies behind it, and nobody asks.
void count_window(const std::uint8_t* plane, Sample sample, WindowCounts& counts) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const std::size_t rows = ceil_div(sample.rows, sample.step);
  const std::size_t stride = sample.step * sample.width;
  for (std::size_t c = 0; c < sample.width; c += lanes) {
    const std::uint8_t* first = plane + c;
    auto top = hn::Zero(d8);
    for (std::size_t r = 0; r < rows; r += 2) {
      const auto a = hn::LoadU(d8, first + r * stride);
      const auto b = hn::LoadU(d8, first + std::min(r + 1, rows - 1) * stride);
      top = hn::Max(top, hn::Min(a, b));
    }
    hn::StoreU(top, d8, counts.top.data() + c);
    const auto upper = hn::Add(top, hn::Set(d8, window_above));
    count_columns(first, rows, stride, upper, counts, c);
  }
  for (std::size_t c = sample.width; c < tile_width; ++c) {
    counts.top[c] = 0;
    for (auto& count : counts.count) count[c] = 0;
  }
}

// Distances -5 to 3 score a point, -2 to 3 another and 0 to 2 a third: differences of running sums,
// which may wrap.
void score_window(const WindowCounts& counts, WindowScores& scores) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  HWY_ALIGN std::uint8_t sums[window + 1][64];
  for (std::size_t c = 0; c < tile_width; c += lanes) {
    auto sum = hn::Zero(d8);
    hn::Store(sum, d8, sums[0]);
    for (std::size_t t = 0; t < window; ++t) {
      sum = hn::Add(sum, hn::LoadU(d8, counts.count[t].data() + c));
      hn::Store(sum, d8, sums[t + 1]);
    }
    const auto below = [&](int t) HWY_ATTR {  // the counts of places before t
      return hn::Load(d8, sums[std::clamp(t, 0, static_cast<int>(window))]);
    };
    auto best = hn::Zero(d8), place = hn::Zero(d8);
    for (int j = 0; j < static_cast<int>(window); ++j) {
      const auto outer = hn::Sub(hn::Add(below(j + 6), below(j + 3)), below(j - 3));
      const auto inner = hn::Sub(below(j + 1), hn::Add(below(j - 3), below(j - 2)));
      const auto score = hn::Add(outer, inner);
      hn::StoreU(score, d8, scores.score[static_cast<std::size_t>(j)].data() + c);
      const auto same = hn::Eq(hn::Max(best, score), best);
      place = hn::IfThenElse(same, place, hn::Set(d8, static_cast<std::uint8_t>(j)));
      best = hn::Max(best, score);
    }
    hn::StoreU(best, d8, scores.best.data() + c);
    hn::StoreU(place, d8, scores.place.data() + c);
  }
}

std::size_t encode_block(const std::uint8_t* plane, const BaseCycle& bases, std::uint32_t phase,
                         std::uint8_t* codes, std::uint8_t* next) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const RowBases row_base(bases, phase);
  BlockEscapes escapes;
  const auto three = hn::Set(d8, 3);
  for (std::size_t c = 0; c < tile_width; c += lanes) {
    auto high = hn::Zero(d8), low = hn::Zero(d8);
    for (std::size_t row = 0; row < 8; ++row) {
      const auto e = hn::LoadU(d8, plane + 64 * row + c);
      const auto base = hn::LoadU(d8, row_base[row] + c);
      const auto code = hn::Min(hn::Sub(e, base), three);
      escapes.set(row, c, hn::Sub(hn::Add(base, three), e), hn::Eq(code, three));
      auto& word = row < 4 ? high : low;
      word = hn::Or(shift_left_2(word), code);
    }
    hn::StoreInterleaved2(low, high, d8, codes + 2 * c);
  }
  return escapes.compress(next);
}

std::size_t decode_block(const std::uint8_t* codes, const BaseCycle& bases, std::uint32_t phase,
                         const std::uint8_t* next, std::uint8_t* plane) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const RowBases row_base(bases, phase);
  BlockEscapes escapes;
  const auto three = hn::Set(d8, 3);
  for (std::size_t c = 0; c < tile_width; c += lanes) {
    auto low = hn::Undefined(d8), high = hn::Undefined(d8);
    hn::LoadInterleaved2(d8, codes + 2 * c, low, high);
    for (std::size_t i = 4; i-- > 0;) {
      const auto high_code = hn::And(high, three), low_code = hn::And(low, three);
      const auto high_base = hn::LoadU(d8, row_base[i] + c);
      const auto low_base = hn::LoadU(d8, row_base[i + 4] + c);
      escapes.set(i, c, hn::Add(high_base, high_code), hn::Eq(high_code, three));
      escapes.set(i + 4, c, hn::Add(low_base, low_code), hn::Eq(low_code, three));
      high = shift_right_2(high);
      low = shift_right_2(low);
    }
  }
  return escapes.expand_and_subtract(next, plane);
}

std::size_t encode_tier(int tier, const std::uint8_t* v, std::size_t n, std::uint8_t* codes,
                        std::uint8_t* next) {
  switch (tier) {
    case 1:
      return encode_tier_of<1>(v, n, codes, next);
    case 2:
      return encode_tier_of<2>(v, n, codes, next);
    case 3:
      return encode_tier_of<3>(v, n, codes, next);
    default:
      return encode_tier_of<4>(v, n, codes, next);
  }
}

void decode_tier(int tier, const std::uint8_t* codes, std::size_t n, const std::uint8_t* next,
                 std::uint8_t* v) {
  switch (tier) {
    case 1:
      return decode_tier_of<1>(codes, n, next, v);
    case 2:
      return decode_tier_of<2>(codes, n, next, v);
    case 3:
      return decode_tier_of<3>(codes, n, next, v);
    default:
      return decode_tier_of<4>(codes, n, next, v);
  }
}

std::size_t count_escapes(const std::uint8_t* codes, std::size_t size) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const hn::Repartition<std::uint64_t, D8> d64;
  auto counts = hn::Zero(d64);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto x = hn::LoadU(d8, codes + i);
    const auto upper = hn::BitCast(d8, hn::ShiftRight<1>(hn::BitCast(D16(), x)));
    const auto threes = hn::And(hn::And(x, upper), hn::Set(d8, 0x55));
    counts = hn::Add(counts, hn::SumsOf8(hn::PopulationCount(threes)));
  }
  std::size_t count = hn::GetLane(hn::SumOfLanes(d64, counts));
  for (; i < size; ++i) {
    count += static_cast<std::size_t>(std::popcount(codes[i] & codes[i] >> 1 & 0x55u));
  }
  return count;
}

// Rows 2j and 2j+1 of a block alternate by 8 bytes.
void store_bytes(const std::uint8_t* plane, std::size_t n, std::uint8_t* packed) {
  const hn::Repartition<std::uint64_t, D8> d64;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const std::size_t blocks_end = n / block_values * block_values;
  for (std::size_t k = 0; k < blocks_end; k += 128) {
    for (std::size_t c = 0; c < 64; c += lanes) {
      const auto a = hn::BitCast(d64, hn::LoadU(d8, plane + k + c));
      const auto b = hn::BitCast(d64, hn::LoadU(d8, plane + k + 64 + c));
      hn::StoreInterleaved2(a, b, d64, reinterpret_cast<std::uint64_t*>(packed + k + 2 * c));
    }
  }
  std::memcpy(packed + blocks_end, plane + blocks_end, n - blocks_end);
}

void load_bytes(const std::uint8_t* packed, std::size_t n, std::uint8_t* plane) {
  const hn::Repartition<std::uint64_t, D8> d64;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const std::size_t blocks_end = n / block_values * block_values;
  for (std::size_t k = 0; k < blocks_end; k += 128) {
    for (std::size_t c = 0; c < 64; c += lanes) {
      auto a = hn::Undefined(d64), b = hn::Undefined(d64);
      hn::LoadInterleaved2(d64, reinterpret_cast<const std::uint64_t*>(packed + k + 2 * c), a, b);
      hn::StoreU(hn::BitCast(d8, a), d8, plane + k + c);
      hn::StoreU(hn::BitCast(d8, b), d8, plane + k + 64 + c);
    }
  }
  std::memcpy(plane + blocks_end, packed + blocks_end, n - blocks_end);
}

void store_bits(const std::uint8_t* plane, std::size_t n, std::uint8_t mask, std::uint8_t* packed) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const std::size_t stride = ceil_div(n, 8);
  for (unsigned bit = 0; bit < 8; ++bit) {
    if (!(mask >> bit & 1)) continue;
    const auto one = hn::Set(d8, static_cast<std::uint8_t>(1u << bit));
    std::size_t k = 0;
    for (; k + lanes <= n; k += lanes) {
      hn::StoreMaskBits(d8, hn::TestBit(hn::LoadU(d8, plane + k), one), packed + k / 8);
    }
    std::memset(packed + k / 8, 0, stride - k / 8);
    for (; k < n; ++k) {
      packed[k / 8] = static_cast<std::uint8_t>(packed[k / 8] | (plane[k] >> bit & 1) << (k % 8));
    }
    packed += stride;
  }
}

void load_bits(const std::uint8_t* packed, std::size_t n, std::uint8_t mask, std::uint8_t constant,
               std::uint8_t* plane) {
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d8);
  const std::size_t stride = ceil_div(n, 8);
  std::memset(plane, constant, n);
  for (unsigned bit = 0; bit < 8; ++bit) {
    if (!(mask >> bit & 1)) continue;
    const auto one = hn::Set(d8, static_cast<std::uint8_t>(1u << bit));
    std::size_t k = 0;
    for (; k + lanes <= n; k += lanes) {
      const auto set = load_mask(packed + k / 8);
      hn::StoreU(hn::Or(hn::LoadU(d8, plane + k), hn::IfThenElseZero(set, one)), d8, plane + k);
    }
    for (; k < n; ++k) {
      plane[k] = static_cast<std::uint8_t>(plane[k] | (packed[k / 8] >> (k % 8) & 1) << bit);
    }
    packed += stride;
  }
}

const Kernels* target_kernels() {
  static constexpr Kernels kernels{
      .split = split,
      .join = join,
      .range = range,
      .count_window = count_window,
      .score_window = score_window,
      .encode_block = encode_block,
      .encode_tier = encode_tier,
      .decode_block = decode_block,
      .decode_tier = decode_tier,
      .count_escapes = count_escapes,
      .store_bytes = store_bytes,
      .load_bytes = load_bytes,
      .store_bits = store_bits,
      .load_bits = load_bits,
  };
  return &kernels;
}

#endif  // HWY_TARGET == HWY_SCALAR
}  // namespace offramp::exact::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::exact {
HWY_EXPORT(target_kernels);

const Kernels& fast_kernels() noexcept { return *HWY_DYNAMIC_DISPATCH(target_kernels)(); }

}  // namespace offramp::exact
#endif
