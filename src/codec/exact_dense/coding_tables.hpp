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
  static constexpr std::size_t front_pad = 32;

  /// [class][slot]: x << 6 | t << 5 | s << 4 | distance; nb = 10 - floor(log2 x), and the next
  /// state is x << nb plus nb bits. The escape has distance 15 and s = t = 0. Small, so that all
  /// classes stay in a core's first cache. Padded in front, so that 32-bit gathers can have an
  /// entry in their upper half.
  alignas(64) std::uint16_t decode[front_pad + class_count * state_count];

  /// [class][4 * min(d, distances) + 2 * s + t]: nb = (entry + (state << 16)) >> 27, and the next
  /// state is states[(entry & 0xffff) + (state >> nb)]. An escape has one entry for each s and t.
  alignas(64) std::uint32_t symbols[class_count * symbols_per_class];

  /// The symbols' upper and lower halves, for permutes.
  alignas(64) std::uint16_t symbol_sizes[class_count * symbols_per_class];
  alignas(64) std::uint16_t symbol_offsets[class_count * symbols_per_class];

  /// Padded in front, so that no offset is negative.
  alignas(64) std::uint16_t states[state_count + class_count * state_count];
};

const CodingTables& coding_tables() noexcept;

}  // namespace offramp::exact_dense
