// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_format.hpp"

#include <offramp/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::exact {

using Planes = std::array<std::uint8_t*, max_planes>;

/// Bits that are 1 in any, and in all, of a plane's bytes.
struct BitRange {
  std::uint8_t any{};
  std::uint8_t all{0xff};
  [[nodiscard]] std::uint8_t varying() const noexcept {
    return static_cast<std::uint8_t>(any ^ all);
  }
  friend bool operator==(BitRange, BitRange) = default;
  void add(BitRange other) noexcept {
    any = static_cast<std::uint8_t>(any | other.any);
    all = static_cast<std::uint8_t>(all & other.all);
  }
};

using BitRanges = std::array<BitRange, max_planes>;

/// What splitting values finds.
struct SplitFacts {
  BitRanges ranges{};   ///< of each plane
  std::size_t zeros{};  ///< values whose bits are all 0
  friend bool operator==(const SplitFacts&, const SplitFacts&) = default;
};

/// The planes from value `k` on.
[[nodiscard]] inline Planes planes_from(Planes planes, std::size_t k) noexcept {
  for (auto& plane : planes) {
    if (plane != nullptr) plane += k;
  }
  return planes;
}

/// Channel bases repeated, so that 64 of them can be loaded from any place below `width`.
struct BaseCycle {
  std::array<std::uint8_t, 2 * tile_width + slack> bytes{};
  std::uint32_t width{tile_width};
};

/// Rows that bases are chosen from: every `step`-th of the first `rows`.
struct Sample {
  std::size_t rows{};
  std::size_t width{};
  std::size_t step{1};
};

inline constexpr std::size_t window = 16;  ///< exponents that a channel's base is chosen among
inline constexpr std::uint8_t window_above = 4;  ///< of these, how many lie above `top`

/// What the base choice counts: for each channel, how often each exponent of its window occurs.
struct WindowCounts {
  alignas(64) std::array<std::uint8_t, tile_width> top{};
  alignas(64) std::array<std::array<std::uint8_t, tile_width>, window> count{};
};

/// What a value at distance d from the base scores: 3, 2, 1 for tiers 1, 2, 3. Each point is 2
/// bits.
inline constexpr int lowest_distance = -5, highest_distance = 3;
inline constexpr std::uint8_t score_of_distance[] = {1, 1, 1, 2, 2, 3, 3, 3, 2};

/// Scores of the bases in every channel's window, and where the first best one of them stands.
struct WindowScores {
  alignas(64) std::array<std::array<std::uint8_t, tile_width>, window> score{};
  alignas(64) std::array<std::uint8_t, tile_width> best{};
  alignas(64) std::array<std::uint8_t, tile_width> place{};
};

/// The inner loops of the tile code, all that touches every value. `reference_kernels` defines
/// them; `fast_kernels` gives the same bytes.
///
/// Buffers called scratch have `slack` bytes behind them that may be read and written.
struct Kernels {
  /// Values to planes (scratch) and back. Both touch n values exactly.
  SplitFacts (*split)(DType dtype, bool zigzag, tiles::ConstLines values, std::size_t n,
                      const Planes& planes){};
  void (*join)(DType dtype, bool zigzag, const Planes& planes, std::size_t n,
               tiles::Lines values){};

  BitRange (*range)(const std::uint8_t* plane, std::size_t n){};

  /// Reads rows of a scratch plane.
  void (*count_window)(const std::uint8_t* plane, Sample sample, WindowCounts& counts){};

  /// The counts of a channel sum up to 85 at most.
  void (*score_window)(const WindowCounts& counts, WindowScores& scores){};

  /// Tier 1 of one block: 128 bytes of codes, and v of what goes on, to scratch. `phase` is the
  /// channel of the block's first value. Returns how many go on.
  std::size_t (*encode_block)(const std::uint8_t* plane, const BaseCycle& bases,
                              std::uint32_t phase, std::uint8_t* codes, std::uint8_t* next){};

  /// Codes of tier 1 (tail) to 4 for n bytes of v; all three are scratch. Returns how many go on.
  std::size_t (*encode_tier)(int tier, const std::uint8_t* v, std::size_t n, std::uint8_t* codes,
                             std::uint8_t* next){};

  /// Restores a block of a scratch plane; returns how many v it took from `next` (scratch).
  std::size_t (*decode_block)(const std::uint8_t* codes, const BaseCycle& bases,
                              std::uint32_t phase, const std::uint8_t* next, std::uint8_t* plane){};

  /// Restores n bytes of v; all three are scratch.
  void (*decode_tier)(int tier, const std::uint8_t* codes, std::size_t n, const std::uint8_t* next,
                      std::uint8_t* v){};

  /// How many of the 2-bit codes in `size` bytes are 3.
  std::size_t (*count_escapes)(const std::uint8_t* codes, std::size_t size){};

  /// Byte plane and bit planes; the packed side is exact, the plane is scratch.
  void (*store_bytes)(const std::uint8_t* plane, std::size_t n, std::uint8_t* packed){};
  void (*load_bytes)(const std::uint8_t* packed, std::size_t n, std::uint8_t* plane){};
  void (*store_bits)(const std::uint8_t* plane, std::size_t n, std::uint8_t mask,
                     std::uint8_t* packed){};
  void (*load_bits)(const std::uint8_t* packed, std::size_t n, std::uint8_t mask,
                    std::uint8_t constant, std::uint8_t* plane){};
};

const Kernels& reference_kernels() noexcept;

/// The best kernels for this processor (Highway's choice at run time).
const Kernels& fast_kernels() noexcept;

}  // namespace offramp::exact
