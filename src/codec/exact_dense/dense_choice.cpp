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

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::uint32_t width = tiles::tile_width;
constexpr std::uint32_t top_count = 4;  // tops tried above a channel's T0
constexpr std::uint32_t max_shared_tops = 12;
constexpr std::uint32_t group_rows = 8;
constexpr std::uint32_t max_groups = 128 / group_rows;
constexpr std::uint32_t bins = 64;  // sign << 5 | sign change << 4 | -e mod 16
constexpr std::uint16_t no_maximum = 256;

// The steps below stay functions of their own: inlined into one, they run a third slower.

/// What the sample shows of the channels.
struct Sample {
  alignas(64) std::uint8_t histogram[width + 1][bins];  // the last takes what is not counted
  alignas(64) std::uint16_t maxima[max_groups][width];
  std::uint32_t rows;
  std::uint32_t groups;
};

/// Of one channel: what the costs are summed over.
struct Channel {
  /// [sign][i]: of e = -i mod 16, twice over, so that the counts of falling exponents lie in a row.
  alignas(64) std::uint16_t counts[2][32];
  std::uint16_t zeros;
  std::uint16_t t0;
  bool lives;
};

bool is_sampled(TileExtent extent, std::uint32_t row) {
  return extent.rows <= 128 || (row & 16) == 0;
}

HWY_NOINLINE void take_sample(const std::uint16_t* words, TileExtent extent, Sample& sample) {
  std::memset(sample.histogram, 0, sizeof sample.histogram);
  std::memset(sample.maxima, 0, sizeof sample.maxima);
  sample.rows = 0;
  static constexpr std::uint16_t zeros[width]{};
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    if (!is_sampled(extent, r)) continue;
    const std::uint16_t* row = words + r * pitch;
    const std::uint16_t* above = r > 0 ? row - pitch : zeros;
    std::uint16_t* maxima = sample.maxima[sample.rows / group_rows];
    alignas(64) std::uint16_t bin[width];
    for (std::uint32_t c = 0; c < width; ++c) {
      const std::uint32_t word = row[c];
      const std::uint32_t e = word >> 7 & 255;
      maxima[c] = std::max(maxima[c], static_cast<std::uint16_t>(e));
      const std::uint32_t of_value =
          c * bins + ((word >> 10 & 0x20) | ((word ^ above[c]) >> 11 & 0x10) | ((0U - e) & 15));
      bin[c] = static_cast<std::uint16_t>(e > 0 ? of_value : width * bins + c);
    }
    std::uint8_t* flat = &sample.histogram[0][0];
    for (std::uint32_t c = 0; c < width; ++c) ++flat[bin[c]];
    ++sample.rows;
  }
  sample.groups = (sample.rows + group_rows - 1) / group_rows;
}

/// Whether the sign is better coded as a change; gathers the counts for the better of both.
HWY_NOINLINE bool gather_counts(const Sample& sample, std::uint32_t c, Channel& channel) {
  const std::uint8_t* h = sample.histogram[c];
  std::int32_t sum[2][2]{};  // sign, change
  for (std::uint32_t s = 0; s < 2; ++s) {
    for (std::uint32_t d = 0; d < 2; ++d) {
      for (std::uint32_t i = 0; i < 16; ++i) sum[s][d] += h[s * 32 + d * 16 + i];
    }
  }
  const std::int32_t n = sum[0][0] + sum[0][1] + sum[1][0] + sum[1][1];
  const std::int32_t n1 = sum[1][0] + sum[1][1];
  const std::int32_t d1 = sum[0][1] + sum[1][1];
  const bool change = std::abs(2 * d1 - n) > std::abs(2 * n1 - n) + n / 16 + 4;
  const std::uint32_t outer = change ? 16 : 32;
  const std::uint32_t inner = 48 - outer;
  for (std::uint32_t s = 0; s < 2; ++s) {
    for (std::uint32_t i = 0; i < 16; ++i) {
      channel.counts[s][i] = channel.counts[s][i + 16] =
          static_cast<std::uint16_t>(h[s * outer + i] + h[s * outer + inner + i]);
    }
  }
  channel.zeros = static_cast<std::uint16_t>(sample.rows - static_cast<std::uint32_t>(n));
  return change;
}

/// Sorts each channel's maxima, those of groups without a value behind the others.
HWY_NOINLINE void sort_maxima(Sample& sample) {
  for (std::uint32_t g = 0; g < sample.groups; ++g) {
    std::uint16_t* row = sample.maxima[g];
    for (std::uint32_t c = 0; c < width; ++c) row[c] = row[c] == 0 ? no_maximum : row[c];
  }
  for (std::uint32_t pass = 0; pass < sample.groups; ++pass) {
    for (std::uint32_t g = pass % 2; g + 1 < sample.groups; g += 2) {
      std::uint16_t* low = sample.maxima[g];
      std::uint16_t* high = sample.maxima[g + 1];
      for (std::uint32_t c = 0; c < width; ++c) {
        const std::uint16_t least = std::min(low[c], high[c]);
        high[c] = std::max(low[c], high[c]);
        low[c] = least;
      }
    }
  }
}

/// The lower quartile of the groups' maxima: neither rare outliers nor zeros move it.
HWY_NOINLINE void find_t0(const Sample& sample, std::uint32_t c, Channel& channel) {
  std::uint32_t live = 0;
  for (std::uint32_t g = 0; g < sample.groups; ++g) live += sample.maxima[g][c] != no_maximum;
  channel.lives = live > 0;
  channel.t0 = live > 0 ? sample.maxima[live / 4][c] : std::uint16_t{0};
}

/// Costs of classes in lanes: [16 * sign + distance, or 32 for a zero][class].
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

/// All classes' least costs over the tops that are tried, and for which j. Sums fit 16 bits: at
/// most 128 values of at most 255 each.
HWY_NOINLINE void find_least_costs(const Channel& channel, std::uint16_t* costs,
                                   std::uint16_t* best_j) {
  const hn::CappedTag<std::uint16_t, class_count> tag;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t k = 0; k < class_count; k += lanes) {
    const Vector zeros = hn::Mul(hn::Load(tag, cost_table.of[32] + k), hn::Set(tag, channel.zeros));
    Vector sums[top_count];
    for (Vector& sum : sums) sum = zeros;
    const std::uint16_t* rows[top_count];
    for (std::uint32_t j = 0; j < top_count; ++j)
      rows[j] = channel.counts[0] + ((0U - channel.t0 - j) & 15);
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint32_t at = i < 16 ? i : i + 16;
      const Vector cost = hn::Load(tag, cost_table.of[i] + k);
      for (std::uint32_t j = 0; j < top_count; ++j) {
        sums[j] = hn::Add(sums[j], hn::Mul(cost, hn::Set(tag, rows[j][at])));
      }
    }
    Vector least = sums[0];
    Vector at = hn::Zero(tag);
    for (std::uint32_t j = 1; channel.lives && j < top_count; ++j) {
      const auto lower = sums[j] < least;
      least = hn::IfThenElse(lower, sums[j], least);
      at = hn::IfThenElse(lower, hn::Set(tag, static_cast<std::uint16_t>(j)), at);
    }
    hn::Store(least, tag, costs + k);
    hn::Store(at, tag, best_j + k);
  }
}

/// Adds a channel's costs to those of all; gives its least, as cost << 4 | class.
HWY_NOINLINE std::uint32_t add_costs(const std::uint16_t* costs, std::uint32_t* sums) {
  const hn::CappedTag<std::uint32_t, class_count> tag;
  const hn::Rebind<std::uint16_t, decltype(tag)> narrow;
  auto best = hn::Set(tag, ~0U);
  for (std::size_t k = 0; k < class_count; k += hn::Lanes(tag)) {
    const auto cost = hn::PromoteTo(tag, hn::Load(narrow, costs + k));
    hn::Store(hn::Add(hn::Load(tag, sums + k), cost), tag, sums + k);
    const auto numbered =
        hn::Or(hn::ShiftLeft<4>(cost), hn::Iota(tag, static_cast<std::uint32_t>(k)));
    best = hn::Min(best, numbered);
  }
  return hn::GetLane(hn::MinOfLanes(tag, best));
}

struct Best {
  std::uint64_t cost{~std::uint64_t{0}};
  std::uint32_t top{};
  std::uint32_t class_of{};
};

HWY_NOINLINE Best best_shared(const Channel* channels, std::uint32_t count, std::uint32_t least,
                              std::uint32_t greatest) {
  std::uint32_t sums[33]{};  // by -e mod 16
  for (std::uint32_t c = 0; c < count; ++c) {
    for (std::uint32_t s = 0; s < 2; ++s) {
      for (std::uint32_t i = 0; i < 16; ++i) sums[16 * s + i] += channels[c].counts[s][i];
    }
    sums[32] += channels[c].zeros;
  }
  Best best;
  for (std::uint32_t top = least; top < greatest + top_count; ++top) {
    for (std::uint32_t k = 0; k < class_count; ++k) {
      std::uint64_t cost = std::uint64_t{sums[32]} * cost_table.of[32][k];
      for (std::uint32_t s = 0; s < 2; ++s) {
        for (std::uint32_t d = 0; d < 16; ++d) {
          cost += std::uint64_t{sums[16 * s + ((d - top) & 15)]} * cost_table.of[16 * s + d][k];
        }
      }
      if (cost < best.cost) best = {cost, top, k};
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
  std::uint32_t least = no_maximum;
  std::uint32_t greatest = 0;
  for (std::uint32_t c = 0; c < count; ++c) {
    plan.change[c] = gather_counts(sample, c, channels[c]);
    find_t0(sample, c, channels[c]);
    if (!channels[c].lives) continue;
    least = std::min<std::uint32_t>(least, channels[c].t0);
    greatest = std::max<std::uint32_t>(greatest, channels[c].t0);
  }
  if (least == no_maximum) least = greatest;

  std::uint64_t own_cost = 0;                           // every channel with its best class and top
  alignas(64) std::uint32_t class_cost[class_count]{};  // one class, best tops
  std::uint8_t own_class[width];
  alignas(64) std::uint16_t best_j[width][class_count];
  for (std::uint32_t c = 0; c < count; ++c) {
    Channel& channel = channels[c];
    if (!channel.lives) channel.t0 = static_cast<std::uint16_t>(greatest);
    alignas(64) std::uint16_t costs[class_count];
    find_least_costs(channel, costs, best_j[c]);
    const std::uint32_t best = add_costs(costs, class_cost);
    own_cost += best >> 4;
    own_class[c] = best & 15;
  }
  const auto top_of = [&](std::uint32_t c, std::uint32_t k) {
    return as_top(channels[c].t0 + std::uint32_t{best_j[c][k]});
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
      plan.top[c] = top_of(c, own_class[c]);
      plan.class_of[c] = own_class[c];
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
