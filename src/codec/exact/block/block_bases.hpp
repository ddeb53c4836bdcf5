// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact/exact_format.hpp"

#include <cstddef>
#include <cstdint>

// The choice of a tiered plane's bases (spec.md, What the encoder chooses).

namespace offramp::exact::block {

inline constexpr std::uint32_t window_size = 16;  ///< exponents a channel's base is chosen among
inline constexpr std::uint32_t above_top = 4;     ///< how many of these lie above the top

/// The bases of a plane of n values in rows of `width`.
struct BaseChoice {
  Bases kind{Bases::shared};
  std::uint8_t base{};       ///< shared, or the nibbles' origin
  std::uint32_t points{};    ///< score over the sample, 2 bits each off a cost of 8 bits a value
  std::uint32_t sampled{1};  ///< values

  /// Whether tiers could take less than `bits` a value.
  [[nodiscard]] constexpr bool may_beat(int bits) const {
    return 8 * sampled < static_cast<std::uint32_t>(bits) * sampled + 2 * points;
  }
};

/// In shared memory.
struct BaseShared {
  std::uint8_t channel[tile_width];  ///< bases, unless there is one for all
  std::uint32_t top[tile_width];
  std::uint32_t count[window_size][tile_width];  ///< of values by distance below the window's top
  std::uint8_t score[window_size][tile_width];   ///< of the window's bases
  std::uint32_t histogram[256];
};

/// The base of each value: one for all, or its channel's.
struct BaseTable {
  const std::uint8_t* channel{};
  RowDivider divider{1};
  bool by_channel{};
  std::uint8_t base{};

  /// For value k, k + 1, ..., k + 7.
  [[nodiscard]] OFFRAMP_DEVICE std::uint64_t of_group(std::uint32_t k) const {
    if (!by_channel) return base * std::uint64_t{0x0101010101010101};
    std::uint32_t c = divider.column(k);
    std::uint64_t bases = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      bases |= std::uint64_t{channel[c]} << (8 * i);
      c = c + 1 == divider.width() ? 0 : c + 1;
    }
    return bases;
  }
};

[[nodiscard]] OFFRAMP_DEVICE inline BaseTable make_base_table(Bases kind, std::uint8_t base,
                                                              const std::uint8_t* channel,
                                                              std::uint32_t width) {
  return {channel, RowDivider(width), kind != Bases::shared, base};
}

/// Which of a plane's full rows bases are chosen from: all of up to 64, else every fourth.
class SampledRows {
 public:
  constexpr explicit SampledRows(std::uint32_t rows) : rows_(rows), step_(rows > 64 ? 4 : 1) {}

  [[nodiscard]] constexpr std::uint32_t count() const { return div_up(rows_, step_); }
  [[nodiscard]] constexpr std::uint32_t row(std::uint32_t i) const { return i * step_; }

  /// Pairs of successive ones: the first row of a pair, and the other, the same where there is
  /// none.
  [[nodiscard]] constexpr std::uint32_t pairs() const { return div_up(count(), 2); }
  [[nodiscard]] constexpr std::uint32_t pair_row(std::uint32_t i) const { return row(2 * i); }
  [[nodiscard]] constexpr std::uint32_t partner(std::uint32_t row) const {
    return row + step_ < rows_ ? row + step_ : row;
  }

 private:
  std::uint32_t rows_;
  std::uint32_t step_;
};

/// What a value at distance d from the base scores.
[[nodiscard]] constexpr std::uint32_t points_of(int d) {
  return d >= 0 && d <= 2 ? 3u : d == 3 || d == -1 || d == -2 ? 2u : d >= -5 && d <= -3 ? 1u : 0u;
}
inline constexpr int lowest_distance = -5, highest_distance = 3;

/// One base for all, without regard to channels.
template <class B>
OFFRAMP_DEVICE BaseChoice choose_shared_base(B& block, const std::uint8_t* plane, std::uint32_t n,
                                             BaseShared& shared) {
  const std::uint32_t step = n > 64 * tile_width ? 2 * tile_width : tile_width;
  block.for_each(256, [&](std::uint32_t b) { shared.histogram[b] = 0; });
  const std::uint32_t sampled = sum(block, div_up(n, step) * tile_width, [&](std::uint32_t i) {
    const std::uint32_t k = i / tile_width * step + i % tile_width;
    if (k >= n) return 0u;
    block.add(shared.histogram[plane[k]], 1);
    return 1u;
  });
  const std::uint32_t best = largest(block, 256, [&](std::uint32_t b) {
    std::uint32_t score = 0;
    for (int d = lowest_distance; d <= highest_distance; ++d) {
      score += points_of(d) * shared.histogram[(b + static_cast<std::uint32_t>(d)) & 0xff];
    }
    return score << 8 | b;
  });
  return {Bases::shared, static_cast<std::uint8_t>(best), best >> 8, sampled};
}

template <class B>
OFFRAMP_DEVICE void count_windows(B& block, const std::uint8_t* plane, SampledRows sample,
                                  std::uint32_t width, BaseShared& shared) {
  const RowDivider divider(width);
  block.for_each(window_size * tile_width, [&](std::uint32_t i) {
    shared.count[i / tile_width][i % tile_width] = 0;
    if (i < tile_width) shared.top[i] = 0;
  });
  block.for_each(sample.pairs() * width, [&](std::uint32_t i) {
    const std::uint32_t row = sample.pair_row(divider.row(i)), c = divider.column(i);
    block.raise(shared.top[c],
                lesser(plane[row * width + c], plane[sample.partner(row) * width + c]));
  });
  block.for_each(sample.count() * width, [&](std::uint32_t i) {
    const std::uint32_t row = sample.row(divider.row(i)), c = divider.column(i);
    const std::uint32_t t = (shared.top[c] + above_top - plane[row * width + c]) & 0xff;
    if (t < window_size) block.add(shared.count[t][c], 1);
  });
  block.for_each(window_size * tile_width, [&](std::uint32_t i) {
    const int j = static_cast<int>(i / tile_width);
    const std::uint32_t c = i % tile_width;
    std::uint32_t score = 0;
    for (int d = lowest_distance; d <= highest_distance; ++d) {
      const int t = j - d;
      if (t >= 0 && t < static_cast<int>(window_size)) score += points_of(d) * shared.count[t][c];
    }
    shared.score[j][c] = static_cast<std::uint8_t>(score);  // at most 3 x 64
  });
}

/// The channel's base that is best for all: its score << 8 | base.
template <class B>
OFFRAMP_DEVICE std::uint32_t best_for_all(B& block, std::uint32_t width, const BaseShared& shared) {
  return largest(block, 256, [&](std::uint32_t b) {
    bool is_base = false;
    for (std::uint32_t c = 0; c < width; ++c) is_base = is_base || shared.channel[c] == b;
    if (!is_base) return 0u;
    std::uint32_t score = 0;
    for (std::uint32_t c = 0; c < width; ++c) {
      const std::uint32_t place = (shared.top[c] + above_top - b) & 0xff;
      if (place < window_size) score += shared.score[place][c];
    }
    return score << 8 | b;
  });
}

/// Bases by channel, or one where that is as good. Leaves the channels' in `shared`.
template <class B>
OFFRAMP_DEVICE BaseChoice choose_bases(B& block, const std::uint8_t* plane, std::uint32_t n,
                                       std::uint32_t width, BaseShared& shared) {
  const std::uint32_t rows = n / width;
  if (rows == 0) return choose_shared_base(block, plane, n, shared);
  const SampledRows sample(rows);
  count_windows(block, plane, sample, width, shared);
  const std::uint32_t score = sum(block, width, [&](std::uint32_t c) {
    std::uint32_t place = 0;
    for (std::uint32_t j = 1; j < window_size; ++j) {
      if (shared.score[j][c] > shared.score[place][c]) place = j;
    }
    shared.channel[c] = static_cast<std::uint8_t>(shared.top[c] + above_top - place);
    return std::uint32_t{shared.score[place][c]};
  });
  const std::uint32_t high =
      largest(block, width, [&](std::uint32_t c) { return shared.channel[c]; });
  const std::uint32_t low =
      255 - largest(block, width, [&](std::uint32_t c) { return 255u - shared.channel[c]; });

  BaseChoice choice{Bases::byte, 0, score, sample.count() * width};
  if (high - low < window_size) {
    choice.kind = Bases::nibble;
    choice.base = static_cast<std::uint8_t>(low);
  }
  if (high - low > 3 && rows > 64) return choice;
  const std::uint32_t one = best_for_all(block, width, shared);
  // A point is 2 bits; both scores are brought to all n values.
  const std::uint32_t lost = (score - (one >> 8)) * n / choice.sampled;
  if (2 * lost >= bases_size(choice.kind, width) * 8) return choice;
  return {Bases::shared, static_cast<std::uint8_t>(one), one >> 8, choice.sampled};
}

}  // namespace offramp::exact::block
