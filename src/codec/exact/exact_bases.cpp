// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/exact_bases.hpp"

#include <algorithm>

namespace offramp::exact {
namespace {

constexpr std::size_t distances = std::size(score_of_distance);

struct Scored {
  std::uint8_t base{};
  std::size_t score{};
};

// The channel's base that is best for all channels.
Scored best_of_channels(const WindowCounts& counts, const WindowScores& scores, const BaseSet& set,
                        std::size_t width) {
  std::array<bool, 256> is_base{};
  for (std::size_t c = 0; c < width; ++c) is_base[set.channel[c]] = true;
  Scored best;
  for (std::size_t b = is_base.size(); b-- > 0;) {
    if (!is_base[b]) continue;
    std::size_t score = 0;
    for (std::size_t c = 0; c < width; ++c) {
      const auto place = static_cast<std::uint8_t>(counts.top[c] + window_above - b);
      if (place < window) score += scores.score[place][c];
    }
    if (score > best.score) best = {static_cast<std::uint8_t>(b), score};
  }
  return best;
}

}  // namespace

BaseSet choose_shared_base(const std::uint8_t* plane, std::size_t n) {
  std::array<std::array<std::uint32_t, 256>, 2> partial{};  // two, as neighbours are often equal
  const std::size_t step = n > 64 * tile_width ? 2 * tile_width : tile_width;
  BaseSet best;
  for (std::size_t row = 0; row < n; row += step) {
    const std::size_t end = std::min(row + tile_width, n);
    for (std::size_t k = row; k < end; ++k) ++partial[k % 2][plane[k]];
    best.sampled += end - row;
  }
  // The bins that bases 0 to 255 look at, without wrapping; then all bases at once.
  std::array<std::uint32_t, 256 + distances - 1> bins;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto bin = static_cast<std::uint8_t>(static_cast<int>(i) + lowest_distance);
    bins[i] = partial[0][bin] + partial[1][bin];
  }
  std::array<std::uint32_t, 256> scores{};
  for (std::size_t i = 0; i < distances; ++i) {
    const std::uint32_t points = score_of_distance[i];
    for (std::size_t b = 0; b < scores.size(); ++b) scores[b] += points * bins[b + i];
  }
  for (std::size_t b = scores.size(); b-- > 0;) {
    if (scores[b] <= best.points) continue;
    best.points = scores[b];
    best.base = static_cast<std::uint8_t>(b);
  }
  return best;
}

BaseSet choose_bases(const Kernels& kernels, const std::uint8_t* plane, std::size_t n,
                     std::size_t width) {
  const std::size_t rows = n / width;
  if (rows == 0) return choose_shared_base(plane, n);
  const Sample sample{.rows = rows, .width = width, .step = rows > 64 ? 4u : 1u};

  WindowCounts counts;
  kernels.count_window(plane, sample, counts);
  WindowScores scores;
  kernels.score_window(counts, scores);
  BaseSet set{.kind = Bases::byte};
  std::uint8_t low = 255, high = 0;
  std::size_t score = 0;
  for (std::size_t c = 0; c < width; ++c) {
    set.channel[c] = static_cast<std::uint8_t>(counts.top[c] + window_above - scores.place[c]);
    low = std::min(low, set.channel[c]);
    high = std::max(high, set.channel[c]);
    score += scores.best[c];
  }
  set.points = score;
  set.sampled = ceil_div(rows, sample.step) * width;
  const int span = high - low;
  if (span < static_cast<int>(window)) {
    set.kind = Bases::nibble;
    set.base = low;
  }
  if (span > 3 && rows > 64) return set;

  const Scored one = best_of_channels(counts, scores, set, width);
  // A point is 2 bits; both scores are brought to all n values.
  const std::size_t lost = (score - one.score) * n / set.sampled;
  if (2 * lost >= bases_size(set.kind, width) * 8) return set;
  return {.kind = Bases::shared, .base = one.base, .points = one.score, .sampled = set.sampled};
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
