// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/exact_dense/dense_choice.cpp"
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
#include <hwy/foreach_target.h>
// The above must come first: it includes this file once for each target.
#include "codec/exact_dense/class_models.hpp"
#include "codec/exact_dense/dense_choice.hpp"
#include "codec/exact_dense/dense_sample-inl.h"

#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint32_t top_count = 4;  // tops tried above a channel's T0
constexpr std::uint32_t max_shared_tops = 12;
// The steps below stay functions of their own: inlined into one, they run a third slower.

/// What a channel costs in a class, with the best of its tops, as cost << 6 | class << 2 | j: so
/// that the least of several is the one to take.
constexpr std::uint32_t key_cost_shift = 6;
std::uint32_t class_of_key(std::uint32_t key) { return key >> 2 & 15; }
std::uint32_t j_of_key(std::uint32_t key) { return key & 3; }

#if HWY_TARGET <= HWY_AVX3_DL

/// [group of four][class][in the group]: as vpdpbusd wants them. The last group is zeros' cost.
struct CostTable {
  alignas(64) std::uint8_t of[9][class_count][4];
};

constexpr CostTable make_quads() {
  CostTable table{};
  for (std::size_t i = 0; i < 33; ++i) {
    for (std::size_t k = 0; k < class_count; ++k) {
      table.of[i / 4][k][i % 4] = class_models[k].costs[i];
    }
  }
  return table;
}
constexpr CostTable quads = make_quads();

/// Adds the products of each class's four costs and the four counts at `counts`. Every CPU of this
/// target has AVX512VNNI, but Highway 1.0 does not let the compiler use it.
HWY_INLINE void add_products(__m512i& sums, __m512i costs, const void* counts) {
  const auto& four = *static_cast<const std::uint8_t(*)[4]>(counts);
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(costs), "m"(four));
}

HWY_NOINLINE void find_keys(const Channel* channels, std::uint32_t count,
                            std::uint32_t (*keys)[class_count]) {
  const __m512i tie =
      _mm512_slli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), 2);
  for (std::uint32_t c = 0; c < count; ++c) {
    const Channel& channel = channels[c];
    __m512i sums[top_count];
    sums[0] = _mm512_setzero_si512();
    add_products(sums[0], _mm512_load_si512(quads.of[8]), &channel.zeros);
    for (std::uint32_t j = 1; j < top_count; ++j) sums[j] = sums[0];
    for (std::uint32_t q = 0; q < 8; ++q) {
      const __m512i costs = _mm512_load_si512(quads.of[q]);
      for (std::uint32_t j = 0; j < top_count; ++j) {
        const std::uint32_t at = ((0U - channel.t0 - j) & 15) + q % 4 * 4;
        add_products(sums[j], costs, channel.counts[q / 4] + at);
      }
    }
    __m512i least = _mm512_slli_epi32(sums[0], key_cost_shift);
    for (std::uint32_t j = 1; channel.lives && j < top_count; ++j) {
      const __m512i cost = _mm512_slli_epi32(sums[j], key_cost_shift);
      const __m512i own = _mm512_set1_epi32(static_cast<int>(j));
      least = _mm512_min_epu32(least, _mm512_or_si512(cost, own));
    }
    _mm512_store_si512(keys[c], _mm512_or_si512(least, tie));
  }
}

#else

/// [16 * sign + distance, or 32 for a zero][class].
struct CostTable {
  alignas(64) std::uint16_t of[33][class_count];
};

constexpr CostTable make_costs() {
  CostTable table{};
  for (std::size_t i = 0; i < 33; ++i) {
    for (std::size_t k = 0; k < class_count; ++k) table.of[i][k] = class_models[k].costs[i];
  }
  return table;
}
constexpr CostTable cost_table = make_costs();

/// Sums fit 16 bits: at most 64 values of at most 255 each.
HWY_NOINLINE void find_keys(const Channel* channels, std::uint32_t count,
                            std::uint32_t (*keys)[class_count]) {
  const hn::CappedTag<std::uint16_t, class_count> tag;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::uint32_t c = 0; c < count; ++c) {
    const Channel& channel = channels[c];
    for (std::size_t k = 0; k < class_count; k += lanes) {
      const Vector zeros = hn::Mul(hn::Load(tag, cost_table.of[32] + k),
                                   hn::Set(tag, static_cast<std::uint16_t>(channel.zeros)));
      Vector sums[top_count];
      for (Vector& sum : sums) sum = zeros;
      for (std::uint32_t i = 0; i < 32; ++i) {
        const Vector cost = hn::Load(tag, cost_table.of[i] + k);
        for (std::uint32_t j = 0; j < top_count; ++j) {
          const std::uint32_t at = ((0U - channel.t0 - j) & 15) + i % 16;
          sums[j] = hn::Add(sums[j], hn::Mul(cost, hn::Set(tag, channel.counts[i / 16][at])));
        }
      }
      alignas(64) std::uint16_t costs[top_count][class_count];
      for (std::uint32_t j = 0; j < top_count; ++j) hn::Store(sums[j], tag, costs[j]);
      for (std::uint32_t i = 0; i < lanes; ++i) {
        std::uint32_t least = std::uint32_t{costs[0][i]} << key_cost_shift;
        for (std::uint32_t j = 1; channel.lives && j < top_count; ++j) {
          least = std::min(least, std::uint32_t{costs[j][i]} << key_cost_shift | j);
        }
        keys[c][k + i] = least | static_cast<std::uint32_t>(k + i) << 2;
      }
    }
  }
}

#endif  // HWY_TARGET <= HWY_AVX3_DL

/// Each channel's least key, and each class's sum of costs.
HWY_NOINLINE void add_up(const std::uint32_t (*keys)[class_count], std::uint32_t count,
                         std::uint32_t* least, std::uint32_t* class_cost) {
  const hn::CappedTag<std::uint32_t, class_count> tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t k = 0; k < class_count; k += lanes) {
    auto sum = hn::Zero(tag);
    for (std::uint32_t c = 0; c < count; ++c) {
      sum = hn::Add(sum, hn::ShiftRight<key_cost_shift>(hn::Load(tag, keys[c] + k)));
    }
    hn::Store(sum, tag, class_cost + k);
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    auto best = hn::Load(tag, keys[c]);
    for (std::size_t k = lanes; k < class_count; k += lanes) {
      best = hn::Min(best, hn::Load(tag, keys[c] + k));
    }
    least[c] = hn::GetLane(hn::MinOfLanes(tag, best));
  }
}

struct Best {
  std::uint64_t cost{~std::uint64_t{0}};
  std::uint32_t top{};
  std::uint32_t class_of{};
};

/// [16 * sign + distance, or 32 for a zero][class], as wide as what it is summed up to.
struct SharedCosts {
  alignas(64) std::uint32_t of[33][class_count];
};

constexpr SharedCosts make_shared_costs() {
  SharedCosts table{};
  for (std::size_t i = 0; i < 33; ++i) {
    for (std::size_t k = 0; k < class_count; ++k) table.of[i][k] = class_models[k].costs[i];
  }
  return table;
}
constexpr SharedCosts shared_costs = make_shared_costs();

/// Costs are below 2^21: at most 64 * 64 values of at most 255 each.
HWY_NOINLINE Best best_shared(const Channel* channels, std::uint32_t count, std::uint32_t least,
                              std::uint32_t greatest) {
  std::uint32_t sums[33]{};  // by -e mod 16
  for (std::uint32_t c = 0; c < count; ++c) {
    for (std::uint32_t s = 0; s < 2; ++s) {
      for (std::uint32_t i = 0; i < 16; ++i) sums[16 * s + i] += channels[c].counts[s][i];
    }
    sums[32] += channels[c].zeros;
  }
  const hn::CappedTag<std::uint32_t, class_count> tag;
  const std::size_t lanes = hn::Lanes(tag);
  Best best;
  for (std::uint32_t top = least; top < greatest + top_count; ++top) {
    alignas(64) std::uint32_t costs[class_count];
    for (std::size_t k = 0; k < class_count; k += lanes) {
      auto cost = hn::Mul(hn::Load(tag, shared_costs.of[32] + k), hn::Set(tag, sums[32]));
      for (std::uint32_t i = 0; i < 32; ++i) {
        const auto n = hn::Set(tag, sums[(i & 16) | ((i - top) & 15)]);
        cost = hn::Add(cost, hn::Mul(hn::Load(tag, shared_costs.of[i] + k), n));
      }
      hn::Store(cost, tag, costs + k);
    }
    for (std::uint32_t k = 0; k < class_count; ++k) {
      if (costs[k] < best.cost) best = {costs[k], top, k};
    }
  }
  return best;
}

std::uint8_t as_top(std::uint32_t top) {
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(top, 255));
}

void choose(const std::uint16_t* words, TileExtent extent, TilePlan& plan) {
  Sample sample;
  take_sample(words, extent, sample);
  sort_maxima(sample);
  const std::uint32_t count = extent.width;
  Channel channels[width];
  find_changes(sample, plan.change);
  BinCounts counts;
  count_bins(sample, plan.change, counts);
  gather_counts(counts, sample, count, channels);
  find_t0(sample, count, channels);
  std::uint32_t least = no_maximum;
  std::uint32_t greatest = 0;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (!channels[c].lives) continue;
    least = std::min<std::uint32_t>(least, channels[c].t0);
    greatest = std::max<std::uint32_t>(greatest, channels[c].t0);
  }
  if (least == no_maximum) least = greatest;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (!channels[c].lives) channels[c].t0 = static_cast<std::uint16_t>(greatest);
  }

  alignas(64) std::uint32_t keys[width][class_count];
  alignas(64) std::uint32_t class_cost[class_count];  // one class, best tops
  std::uint32_t own_key[width];
  find_keys(channels, count, keys);
  add_up(keys, count, own_key, class_cost);
  std::uint64_t own_cost = 0;  // every channel with its best class and top
  for (std::uint32_t c = 0; c < count; ++c) own_cost += own_key[c] >> key_cost_shift;
  const auto top_of = [&](std::uint32_t c, std::uint32_t k) {
    return as_top(channels[c].t0 + j_of_key(keys[c][k]));
  };

  const auto total = [&](std::uint64_t cost, std::uint32_t bits_a_channel) {
    return cost * extent.rows / sample.rows + std::uint64_t{12} * bits_a_channel * count;
  };
  const auto common = static_cast<std::uint32_t>(
      std::min_element(class_cost, class_cost + class_count) - class_cost);
  plan.form = classes_form;
  std::uint64_t least_total = total(own_cost, 8);
  if (total(class_cost[common], 4) <= least_total) {
    plan.form = tops_form;
    least_total = total(class_cost[common], 4);
  }
  Best shared;
  // What one class costs with the best tops tells whether one top can pay.
  if (greatest + top_count - least <= max_shared_tops &&
      total(class_cost[common], 0) <= least_total) {
    shared = best_shared(channels, count, least, greatest);
    if (total(shared.cost, 0) <= least_total) plan.form = shared_form;
  }

  for (std::uint32_t c = 0; c < count; ++c) {
    if (plan.form == classes_form) {
      plan.class_of[c] = static_cast<std::uint8_t>(class_of_key(own_key[c]));
      plan.top[c] = top_of(c, plan.class_of[c]);
    } else if (plan.form == tops_form) {
      plan.top[c] = top_of(c, common);
      plan.class_of[c] = static_cast<std::uint8_t>(common);
    } else {
      plan.top[c] = as_top(shared.top);
      plan.class_of[c] = static_cast<std::uint8_t>(shared.class_of);
    }
  }
  for (std::uint32_t c = count; c < width; ++c) {
    plan.top[c] = plan.class_of[c] = plan.change[c] = 0;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp::exact_dense {
HWY_EXPORT(choose);

void choose_plan(const std::uint16_t* words, TileExtent extent, TilePlan& plan) {
  HWY_DYNAMIC_DISPATCH(choose)(words, extent, plan);
}
}  // namespace offramp::exact_dense
#endif
