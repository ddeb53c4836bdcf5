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
constexpr std::uint32_t max_sampled_rows = 64;
constexpr std::uint32_t max_groups = max_sampled_rows / group_rows;
constexpr std::uint32_t bins = 32;  // sign or sign change << 4 | -e mod 16
constexpr unsigned not_counted = 128;
constexpr std::uint16_t no_maximum = 256;

// The steps below stay functions of their own: inlined into one, they run a third slower.

/// What the sample shows of the channels.
struct Sample {
  /// Of each value: sign << 5 | sign change << 4 | -e mod 16, or `not_counted`.
  alignas(64) std::uint8_t codes[max_sampled_rows][width];
  alignas(64) std::uint16_t maxima[max_groups][width];
  alignas(64) std::uint16_t live[width];     // values that are counted,
  alignas(64) std::uint16_t ones[width];     // those with sign 1,
  alignas(64) std::uint16_t changes[width];  // those whose sign changes
  std::uint32_t rows;
  std::uint32_t groups;
};

/// Of one channel: what the costs are summed over.
struct Channel {
  /// [sign][i]: of e = -i mod 16, twice over, so that the counts of falling exponents lie in a row.
  alignas(64) std::uint8_t counts[2][32];
  std::uint32_t zeros;
  std::uint16_t t0;
  bool lives;
};

/// Rows whose number has none of these bits are sampled: all, pairs, or pairs of which half are
/// left out. Spread rows show more of a tile than runs of as many do.
std::uint32_t skipped_rows(TileExtent extent) {
  if (extent.rows <= max_sampled_rows) return 0;
  return extent.rows <= 2 * max_sampled_rows ? 2 : 6;
}
static_assert(tiles::tile_rows <= 4 * max_sampled_rows);

HWY_NOINLINE void take_sample(const std::uint16_t* words, TileExtent extent, Sample& sample) {
  static constexpr std::uint16_t zeros[width]{};
  const std::uint16_t* rows[max_sampled_rows];
  sample.rows = 0;
  const std::uint32_t skipped = skipped_rows(extent);
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    if ((r & skipped) == 0) rows[sample.rows++] = words + r * pitch;
  }
  sample.groups = (sample.rows + group_rows - 1) / group_rows;

  const hn::CappedTag<std::uint16_t, 32> tag;
  const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  const auto set = [&](unsigned value) { return hn::Set(tag, static_cast<std::uint16_t>(value)); };
  for (std::uint32_t c = 0; c < width; c += static_cast<std::uint32_t>(lanes)) {
    Vector maximum = hn::Zero(tag), live = maximum, ones = maximum, changes = maximum;
    for (std::uint32_t i = 0; i < sample.rows; ++i) {
      const Vector word = hn::LoadU(tag, rows[i] + c);
      const std::uint16_t* above = rows[i] == words ? zeros : rows[i] - pitch;
      const Vector change = hn::Xor(word, hn::LoadU(tag, above + c));
      const Vector e = hn::And(hn::ShiftRight<7>(word), set(255));
      const auto dead = e == hn::Zero(tag);
      live = hn::Sub(live, hn::VecFromMask(tag, hn::Not(dead)));
      ones = hn::Add(ones, hn::ShiftRight<15>(hn::IfThenZeroElse(dead, word)));
      changes = hn::Add(changes, hn::ShiftRight<15>(hn::IfThenZeroElse(dead, change)));
      const Vector code = hn::Or(hn::Or(hn::And(hn::ShiftRight<10>(word), set(32)),
                                        hn::And(hn::ShiftRight<11>(change), set(16))),
                                 hn::And(hn::Sub(hn::Zero(tag), e), set(15)));
      hn::StoreU(hn::TruncateTo(bytes, hn::IfThenElse(dead, set(not_counted), code)), bytes,
                 sample.codes[i] + c);
      maximum = hn::Max(maximum, e);
      if ((i + 1) % group_rows == 0 || i + 1 == sample.rows) {
        hn::Store(maximum, tag, sample.maxima[i / group_rows] + c);
        maximum = hn::Zero(tag);
      }
    }
    hn::Store(live, tag, sample.live + c);
    hn::Store(ones, tag, sample.ones + c);
    hn::Store(changes, tag, sample.changes + c);
  }
}

/// Whether the signs are better coded as changes.
HWY_NOINLINE void find_changes(const Sample& sample, std::uint8_t* change) {
  for (std::uint32_t c = 0; c < width; ++c) {
    const int n = sample.live[c];
    const int by_sign = std::abs(2 * sample.ones[c] - n);
    const int by_change = std::abs(2 * sample.changes[c] - n);
    change[c] = by_change > by_sign + n / 16 + 4;
  }
}

/// How often each bin occurs, for channels side by side.
struct BinCounts {
  alignas(64) std::uint8_t of[bins][width];
};

/// Counters live in registers, eight at a time.
HWY_NOINLINE void count_bins(const Sample& sample, const std::uint8_t* change, BinCounts& counts) {
  const hn::CappedTag<std::uint8_t, width> tag;
  using Vector = hn::Vec<decltype(tag)>;
  const std::size_t lanes = hn::Lanes(tag);
  const auto set = [&](unsigned value) { return hn::Set(tag, static_cast<std::uint8_t>(value)); };
  for (std::size_t c = 0; c < width; c += lanes) {
    const auto by_change = hn::LoadU(tag, change + c) != hn::Zero(tag);
    alignas(64) std::uint8_t binned[max_sampled_rows][width];
    for (std::uint32_t i = 0; i < sample.rows; ++i) {
      const Vector code = hn::LoadU(tag, sample.codes[i] + c);
      const Vector kept = hn::And(code, set(not_counted | 15));
      const Vector changed = hn::And(code, set(16));
      // A change of place by one bit, as there are no shifts of bytes.
      const Vector sign = hn::IfThenElseZero(hn::TestBit(code, set(32)), set(16));
      hn::Store(hn::Or(kept, hn::IfThenElse(by_change, changed, sign)), tag, binned[i]);
    }
    for (unsigned bin = 0; bin < bins; bin += 8) {
      const Vector b0 = set(bin), b1 = set(bin + 1), b2 = set(bin + 2), b3 = set(bin + 3);
      const Vector b4 = set(bin + 4), b5 = set(bin + 5), b6 = set(bin + 6), b7 = set(bin + 7);
      Vector c0 = hn::Zero(tag), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
      const auto add = [&](Vector& counter, Vector x, Vector y)
                           HWY_ATTR { counter = hn::Sub(counter, hn::VecFromMask(tag, x == y)); };
      for (std::uint32_t i = 0; i < sample.rows; ++i) {
        const Vector code = hn::Load(tag, binned[i]);
        add(c0, code, b0);
        add(c1, code, b1);
        add(c2, code, b2);
        add(c3, code, b3);
        add(c4, code, b4);
        add(c5, code, b5);
        add(c6, code, b6);
        add(c7, code, b7);
      }
      std::uint32_t row = bin;
      for (const Vector counter : {c0, c1, c2, c3, c4, c5, c6, c7}) {
        hn::StoreU(counter, tag, counts.of[row++] + c);
      }
    }
  }
}

/// Counts of bins side by side to counts of channels side by side.
HWY_NOINLINE void gather_counts(const BinCounts& counts, const Sample& sample, std::uint32_t count,
                                Channel* channels) {
  constexpr std::uint32_t size = 16;
  for (std::uint32_t s = 0; s < 2; ++s) {
    const std::uint8_t(*rows)[width] = counts.of + s * size;
#if HWY_TARGET == HWY_SCALAR
    for (std::uint32_t c = 0; c < count; ++c) {
      std::uint8_t* to = channels[c].counts[s];
      for (std::uint32_t i = 0; i < size; ++i) to[i] = to[size + i] = rows[i][c];
    }
#else
    const hn::FixedTag<std::uint8_t, size> tag;
    for (std::uint32_t first = 0; first < count; first += size) {
      hn::Vec<decltype(tag)> x[size], y[size];
      for (std::uint32_t i = 0; i < size; ++i) x[i] = hn::Load(tag, rows[i] + first);
      // Each round moves a bit of the row's number to the column's.
      for (std::uint32_t round = 0; round < 4; ++round) {
        for (std::uint32_t i = 0; i < size / 2; ++i) {
          y[2 * i] = hn::InterleaveLower(tag, x[i], x[i + size / 2]);
          y[2 * i + 1] = hn::InterleaveUpper(tag, x[i], x[i + size / 2]);
        }
        for (std::uint32_t i = 0; i < size; ++i) x[i] = y[i];
      }
      for (std::uint32_t i = 0; i < size && first + i < count; ++i) {
        std::uint8_t* to = channels[first + i].counts[s];
        hn::Store(x[i], tag, to);
        hn::Store(x[i], tag, to + size);
      }
    }
#endif
  }
  for (std::uint32_t c = 0; c < count; ++c) channels[c].zeros = sample.rows - sample.live[c];
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
HWY_NOINLINE void find_t0(const Sample& sample, std::uint32_t count, Channel* channels) {
  std::uint16_t live[width]{};
  for (std::uint32_t g = 0; g < sample.groups; ++g) {
    for (std::uint32_t c = 0; c < width; ++c) {
      live[c] = static_cast<std::uint16_t>(live[c] + (sample.maxima[g][c] != no_maximum));
    }
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    channels[c].lives = live[c] > 0;
    channels[c].t0 = live[c] > 0 ? sample.maxima[live[c] / 4][c] : std::uint16_t{0};
  }
}

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
