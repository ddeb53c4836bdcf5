// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense {

inline constexpr std::size_t class_count = 16;
inline constexpr unsigned state_bits = 10;
inline constexpr std::uint32_t state_count = 1U << state_bits;
inline constexpr std::size_t max_distances = 15;
/// Of one symbol; x then has 10 bits (spec.md, tANS).
inline constexpr std::uint32_t max_frequency = 512;

/// A static model that channels are assigned to (spec.md, Symbols and What the encoder chooses).
struct ClassModel {
  std::uint8_t distances;  ///< distances that have symbols of their own
  /// Of symbol 4 * distance + 2 * sign + top bit; the escape is number 4 * distances.
  std::uint16_t frequencies[4 * max_distances + 1];
  /// What the encoder reckons with, in 1/12 bit: [16 * sign + distance], then a zero.
  std::uint8_t costs[33];
};

#include "dense_tables.inc"

constexpr bool models_are_whole() {
  for (const ClassModel& model : class_models) {
    if (model.distances == 0 || model.distances > max_distances) return false;
    std::uint32_t sum = 0;
    for (std::size_t s = 0; s <= 4U * model.distances; ++s) {
      if (model.frequencies[s] == 0 || model.frequencies[s] > max_frequency) return false;
      sum += model.frequencies[s];
    }
    if (sum != state_count) return false;
  }
  return true;
}
static_assert(models_are_whole(), "every class's frequencies fill the states");

}  // namespace offramp::exact_dense
