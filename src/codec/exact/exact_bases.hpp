// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace offramp::exact {

/// The bases of a tiered plane as a form stores them.
struct BaseSet {
  Bases kind{Bases::shared};
  std::uint8_t base{};                             ///< shared, or the nibbles' origin
  std::array<std::uint8_t, tile_width> channel{};  ///< the bases themselves, unless shared
  std::size_t points{};  ///< score over the sample, 2 bits each off a cost of 8 bits a value
  std::size_t sampled{};

  /// Whether tiers could take less than `bits` a value; each value costs at least what its score
  /// says.
  [[nodiscard]] bool may_beat(int bits) const noexcept {
    return 8 * sampled < static_cast<std::size_t>(bits) * sampled + 2 * points;
  }
};

/// The base that codes most of the n values in low tiers (spec.md, Shared base).
[[nodiscard]] BaseSet choose_shared_base(const std::uint8_t* plane, std::size_t n);

/// Bases for a plane in rows of `width`: by channel, or one where that is as good.
[[nodiscard]] BaseSet choose_bases(const Kernels& kernels, const std::uint8_t* plane, std::size_t n,
                                   std::size_t width);

[[nodiscard]] BaseCycle make_cycle(const BaseSet& bases, std::size_t width) noexcept;

}  // namespace offramp::exact
