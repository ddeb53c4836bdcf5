// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/class_models.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense {

/// The tANS tables of all classes in the shape that kernels gather from. A state is state_count +
/// slot.
struct CodingTables {
  static constexpr std::size_t symbols_per_class = 64;
  static constexpr std::uint32_t escape_distance = 15;

  /// [class][slot]: x << 16 | s << 15 | t << 14 | distance << 8 | nb. The next state is x << nb
  /// plus nb bits, so that one funnel shift makes it. The escape has distance 15 and s = t = 0.
  alignas(64) std::uint32_t decode[class_count * state_count];

  /// [class][4 * min(d, distances) + 2 * s + t]: nb = (entry + (state << 16)) >> 27, and the next
  /// state is states[(entry & 0xffff) + (state >> nb)]. An escape has one entry for each s and t.
  alignas(64) std::uint32_t symbols[class_count * symbols_per_class];

  /// Padded in front, so that no offset is negative, and behind, for 32-bit gathers.
  alignas(64) std::uint16_t states[state_count + class_count * state_count + 2];
};

const CodingTables& coding_tables() noexcept;

}  // namespace offramp::exact_dense
