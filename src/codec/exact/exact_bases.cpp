// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/exact_bases.hpp"

#include <algorithm>

namespace offramp::exact {
namespace {

// What a value at distance d from the base scores: 3, 2, 1 for tiers 1, 2, 3. Each point is 2 bits.
constexpr int lowest = -5;
constexpr int score_of_distance[9] = {1, 1, 1, 2, 2, 3, 3, 3, 2};  // d = -5 to 3

// Scores of all 16 bases of every channel's window, from counts by distance below its top.
using Scores = std::array<std::array<std::uint16_t, tile_width>, window>;

void score_window(const WindowCounts& counts, Scores& scores) {
  for (int j = 0; j < static_cast<int>(window); ++j) {
    auto& row = scores[static_cast<std::size_t>(j)];
    row = {};
    for (int d = lowest; d <= 3; ++d) {
      const int t = j - d;
      if (t < 0 || t >= static_cast<int>(window)) continue;
      const auto& count = counts.count[static_cast<std::size_t>(t)];
      const int points = score_of_distance[d - lowest];
      for (std::size_t c = 0; c < tile_width; ++c) {
        row[c] = static_cast<std::uint16_t>(row[c] + points * count[c]);
      }
    }
  }
}

struct Scored {
  std::uint8_t base{};
  std::size_t score{};
  std::size_t values{};
};

Scored best_shared(const std::uint8_t* plane, std::size_t n) {
  std::array<std::array<std::uint32_t, 256>, 2> partial{};  // two, as neighbours are often equal
  const std::size_t step = n > 64 * tile_width ? 2 * tile_width : tile_width;
  Scored best;
  for (std::size_t row = 0; row < n; row += step) {
    const std::size_t end = std::min(row + tile_width, n);
    for (std::size_t k = row; k < end; ++k) ++partial[k % 2][plane[k]];
    best.values += end - row;
  }
  for (int b = 255; b >= 0; --b) {
    std::size_t score = 0;
    for (int d = lowest; d <= 3; ++d) {
      const auto bin = static_cast<std::uint8_t>(b + d);
      score += static_cast<std::size_t>(score_of_distance[d - lowest]) *
               (partial[0][bin] + partial[1][bin]);
    }
    if (score > best.score) {
      best.score = score;
      best.base = static_cast<std::uint8_t>(b);
    }
  }
  return best;
}

BaseSet shared(const Scored& best) {
  return {.kind = Bases::shared, .base = best.base, .points = best.score, .sampled = best.values};
}

}  // namespace

BaseSet choose_shared_base(const std::uint8_t* plane, std::size_t n) {
  return shared(best_shared(plane, n));
}

BaseSet choose_bases(const Kernels& kernels, const std::uint8_t* plane, std::size_t n,
                     std::size_t width) {
  const std::size_t rows = n / width;
  if (rows == 0) return choose_shared_base(plane, n);
  const Sample sample{.rows = rows, .width = width, .step = rows > 64 ? 2u : 1u};

  WindowCounts counts;
  kernels.count_window(plane, sample, counts);
  Scores scores;
  score_window(counts, scores);

  std::array<std::uint16_t, tile_width> best = scores[0];
  std::array<std::uint16_t, tile_width> place{};
  for (std::size_t j = 1; j < window; ++j) {
    for (std::size_t c = 0; c < tile_width; ++c) {
      const bool better = scores[j][c] > best[c];
      best[c] = better ? scores[j][c] : best[c];
      place[c] = better ? static_cast<std::uint16_t>(j) : place[c];
    }
  }
  BaseSet set{.kind = Bases::byte};
  std::size_t score = 0;
  for (std::size_t c = 0; c < width; ++c) {
    set.channel[c] = static_cast<std::uint8_t>(counts.top[c] + window_above - place[c]);
    score += best[c];
  }
  set.points = score;
  set.sampled = ceil_div(rows, sample.step) * width;
  const auto [low, high] =
      std::minmax_element(set.channel.begin(), set.channel.begin() + static_cast<long>(width));
  const int span = *high - *low;
  if (span < static_cast<int>(window)) {
    set.kind = Bases::nibble;
    set.base = *low;
  }
  if (span > 3 && rows > 64) return set;

  // A point is 2 bits; both scores are brought to all n values.
  const Scored one = best_shared(plane, n);
  const std::size_t by_channel = score * n / set.sampled;
  const std::size_t by_tile = one.score * n / one.values;
  const std::size_t cost = bases_size(set.kind, width) * 8;
  return by_channel < by_tile + cost / 2 ? shared(one) : set;
}

BaseCycle make_cycle(const BaseSet& bases, std::size_t width) noexcept {
  BaseCycle cycle;
  if (bases.kind == Bases::shared) {
    cycle.bytes.fill(bases.base);
    return cycle;
  }
  cycle.width = static_cast<std::uint32_t>(width);
  for (std::size_t k = 0; k < cycle.bytes.size(); k += width) {
    const std::size_t size = std::min(width, cycle.bytes.size() - k);
    std::copy_n(bases.channel.begin(), size, cycle.bytes.begin() + static_cast<long>(k));
  }
  return cycle;
}

}  // namespace offramp::exact
