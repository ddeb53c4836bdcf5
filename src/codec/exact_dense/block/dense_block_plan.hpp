// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_tables.hpp"
#include "codec/exact_dense/block/dense_block_values.hpp"

#include <cstddef>
#include <cstdint>

// spec.md, What the encoder chooses: Sample to Form.

namespace offramp::exact_dense::block {

inline constexpr std::uint32_t classes = class_count;
inline constexpr std::uint32_t tops_tried = 4;
inline constexpr std::uint32_t max_shared_tops = 12;
inline constexpr std::uint32_t group_rows = 8;
inline constexpr std::uint32_t max_sampled_rows = 64;
inline constexpr std::uint32_t max_groups = max_sampled_rows / group_rows;

/// The side data of a tile.
struct Side {
  std::uint8_t top[pitch];
  std::uint8_t class_of[pitch];
  std::uint8_t change[pitch];
};

/// What a block shares while it chooses.
struct ChoiceShared {
  std::uint16_t counts[pitch][2][16];  ///< [sign][e mod 16]
  std::uint16_t zeros[pitch];
  std::uint16_t t0[pitch];
  std::uint8_t lives[pitch];
  std::uint16_t cost[pitch][class_count];  ///< with the best top, times 4, plus that top's number
  std::uint32_t bins[33];
  std::uint32_t class_cost[class_count];
};

/// The rows that are sampled.
struct SampledRows {
  std::uint32_t count{};
  std::uint32_t spread{};  ///< pairs of rows: one of so many

  [[nodiscard]] static constexpr SampledRows of(std::uint32_t rows) {
    const std::uint32_t spread = rows <= max_sampled_rows       ? 1
                                 : rows <= 2 * max_sampled_rows ? 2
                                                                : 4;
    if (spread == 1) return {rows, 1};
    const std::uint32_t period = 2 * spread;
    return {rows / period * 2 + lesser(rows % period, 2), spread};
  }
  [[nodiscard]] constexpr std::uint32_t row(std::uint32_t i) const {
    return spread == 1 ? i : i / 2 * 2 * spread + i % 2;
  }
};

[[nodiscard]] constexpr std::uint32_t distance_of(std::uint32_t a, std::uint32_t b) {
  return a < b ? b - a : a - b;
}

/// Counts one channel's values, and finds its first top and whether its signs are coded as changes.
OFFRAMP_DEVICE inline void look_at_channel(const std::uint16_t* words, SampledRows rows,
                                           std::uint32_t channel, ChoiceShared& shared,
                                           Side& side) {
  const auto sign_changes = [&](std::uint32_t row) {
    const std::uint32_t above = row > 0 ? words[(row - 1) * pitch + channel] : 0u;
    return (words[row * pitch + channel] ^ above) >> 15 & 1;
  };
  std::uint32_t n = 0, ones = 0, changes = 0, groups = 0, greatest = 0;
  std::uint16_t maxima[max_groups];  // of the groups that are not 0, in rising order
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const std::uint32_t row = rows.row(i);
    const std::uint32_t word = words[row * pitch + channel], e = word >> 7 & 255;
    if (e != 0) {
      ++n;
      ones += word >> 15;
      changes += sign_changes(row);
      if (e > greatest) greatest = e;
    }
    if (i % group_rows != group_rows - 1 && i + 1 != rows.count) continue;
    if (greatest != 0) {
      std::uint32_t at = groups++;
      for (; at > 0 && maxima[at - 1] > greatest; --at) maxima[at] = maxima[at - 1];
      maxima[at] = static_cast<std::uint16_t>(greatest);
    }
    greatest = 0;
  }
  const bool by_change = distance_of(2 * changes, n) > distance_of(2 * ones, n) + n / 16 + 4;
  side.change[channel] = by_change;
  shared.zeros[channel] = static_cast<std::uint16_t>(rows.count - n);
  shared.lives[channel] = groups != 0;
  shared.t0[channel] = groups != 0 ? maxima[groups / 4] : 0;

  for (std::uint32_t i = 0; i < 32; ++i) shared.counts[channel][i / 16][i % 16] = 0;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const std::uint32_t row = rows.row(i);
    const std::uint32_t word = words[row * pitch + channel], e = word >> 7 & 255;
    if (e == 0) continue;
    ++shared.counts[channel][by_change ? sign_changes(row) : word >> 15][e % 16];
  }
}

/// Chooses form, tops, classes and changes; returns the form without its flags. Those of channels
/// that the tile does not have are 0.
template <class B>
OFFRAMP_DEVICE std::uint8_t choose_side(B& block, const CostTable& costs,
                                        const std::uint16_t* words, TileExtent extent,
                                        ChoiceShared& shared, Side& side) {
  const SampledRows rows = SampledRows::of(extent.rows);
  const std::uint32_t width = extent.width;
  block.for_each(pitch, [&](std::uint32_t c) {
    if (c < width) {
      look_at_channel(words, rows, c, shared, side);
    } else {
      side.change[c] = 0;
    }
  });
  // Least and greatest first tops of living channels.
  struct Range {
    std::uint32_t least, greatest;
  };
  Range range = block.reduce(
      width, Range{~0u, 0},
      [&](std::uint32_t c) {
        const std::uint32_t t0 = shared.t0[c];
        return shared.lives[c] != 0 ? Range{t0, t0} : Range{~0u, 0};
      },
      [](const Range& a, const Range& b) {
        return Range{lesser(a.least, b.least), a.greatest < b.greatest ? b.greatest : a.greatest};
      });
  if (range.least == ~0u) range.least = range.greatest;

  block.for_each(width * classes, [&](std::uint32_t i) {
    const std::uint32_t c = i / classes, k = i % classes;
    const std::uint32_t t0 = shared.lives[c] != 0 ? shared.t0[c] : range.greatest;
    std::uint32_t least = ~0u;
    for (std::uint32_t j = 0; j < (shared.lives[c] != 0 ? tops_tried : 1); ++j) {
      std::uint32_t cost = shared.zeros[c] * costs.of_zero[k];
      for (std::uint32_t d = 0; d < 16; ++d) {
        const std::uint32_t e = (t0 + j - d) % 16;
        cost +=
            shared.counts[c][0][e] * costs.of[k][d] + shared.counts[c][1][e] * costs.of[k][16 + d];
      }
      least = lesser(least, cost * tops_tried + j);
    }
    shared.cost[c][k] = static_cast<std::uint16_t>(least);
  });
  // A channel's best class: the cost, then the lowest class.
  const auto best_of = [&](std::uint32_t c) {
    std::uint32_t best = ~0u;
    for (std::uint32_t k = 0; k < classes; ++k) {
      const std::uint32_t cost = shared.cost[c][k];
      best = lesser(best, cost / tops_tried << 6 | k << 2 | cost % tops_tried);
    }
    return best;
  };
  const std::uint32_t own_cost =
      sum(block, width, [&](std::uint32_t c) { return best_of(c) >> 6; });
  block.for_each(classes, [&](std::uint32_t k) {
    std::uint32_t cost = 0;
    for (std::uint32_t c = 0; c < width; ++c) cost += shared.cost[c][k] / tops_tried;
    shared.class_cost[k] = cost;
  });
  std::uint32_t common = 0;
  for (std::uint32_t k = 1; k < classes; ++k) {
    if (shared.class_cost[k] < shared.class_cost[common]) common = k;
  }

  const auto total = [&](std::uint32_t cost, std::uint32_t bits_a_channel) {
    return cost * extent.rows / rows.count + 12 * bits_a_channel * width;
  };
  std::uint8_t form = classes_form;
  std::uint32_t least_total = total(own_cost, 8);
  if (total(shared.class_cost[common], 4) <= least_total) {
    form = tops_form;
    least_total = total(shared.class_cost[common], 4);
  }
  const std::uint32_t tops = range.greatest + tops_tried - range.least;
  std::uint32_t one_for_all = 0;
  if (tops <= max_shared_tops && total(shared.class_cost[common], 0) <= least_total) {
    block.for_each(33, [&](std::uint32_t i) {
      std::uint32_t bin = 0;
      for (std::uint32_t c = 0; c < width; ++c) {
        bin += i == 32 ? shared.zeros[c] : shared.counts[c][i / 16][i % 16];
      }
      shared.bins[i] = bin;
    });
    one_for_all = block.reduce(
        tops * classes, ~0u,
        [&](std::uint32_t i) {
          const std::uint32_t top = range.least + i / classes, k = i % classes;
          std::uint32_t cost = shared.bins[32] * costs.of_zero[k];
          for (std::uint32_t d = 0; d < 16; ++d) {
            const std::uint32_t e = (top - d) % 16;
            cost += shared.bins[e] * costs.of[k][d] + shared.bins[16 + e] * costs.of[k][16 + d];
          }
          return cost << 8 | i;
        },
        [](std::uint32_t a, std::uint32_t b) { return lesser(a, b); });
    if (total(one_for_all >> 8, 0) <= least_total) form = shared_form;
  }

  block.for_each(pitch, [&](std::uint32_t c) {
    std::uint32_t top = 0, class_of = 0;
    if (c < width && form == shared_form) {
      top = range.least + (one_for_all & 255) / classes;
      class_of = one_for_all % classes;
    } else if (c < width) {
      const std::uint32_t t0 = shared.lives[c] != 0 ? shared.t0[c] : range.greatest;
      class_of = form == classes_form ? best_of(c) >> 2 & 15 : common;
      top = t0 + shared.cost[c][class_of] % tops_tried;
    }
    side.top[c] = static_cast<std::uint8_t>(lesser(top, 255));
    side.class_of[c] = static_cast<std::uint8_t>(class_of);
  });
  return form;
}

}  // namespace offramp::exact_dense::block
