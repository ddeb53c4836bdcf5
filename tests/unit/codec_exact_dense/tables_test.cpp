// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/coding_tables.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace offramp::exact_dense {
namespace {

std::vector<int> mirrored(const ClassModel& model) {
  std::vector<int> f;
  for (std::size_t s = 0; s < 4U * model.distances; ++s) f.push_back(model.frequencies[s ^ 2]);
  f.push_back(model.frequencies[4U * model.distances]);
  return f;
}

// A model whose channels have the opposite signs must be served as well.
TEST(DenseTables, EveryClassHasItsMirrorImage) {
  for (std::size_t k = 0; k < class_count; ++k) {
    bool found = false;
    for (const ClassModel& other : class_models) {
      if (other.distances != class_models[k].distances) continue;
      const std::vector<int> mirror = mirrored(other);
      int gap = 0;
      for (std::size_t s = 0; s < mirror.size(); ++s) {
        gap += std::abs(mirror[s] - class_models[k].frequencies[s]);
      }
      found |= gap <= 12;  // rounding
    }
    EXPECT_TRUE(found) << "class " << k;
  }
}

// What one state emits for a symbol must lead back to it: the decoder's slot names that symbol.
TEST(DenseTables, DecodingUndoesEveryStep) {
  const CodingTables& tables = coding_tables();
  for (std::size_t k = 0; k < class_count; ++k) {
    const std::uint32_t distances = class_models[k].distances;
    for (std::uint32_t symbol = 0; symbol < 4 * distances + 4; ++symbol) {
      const std::uint32_t entry = tables.symbols[k * CodingTables::symbols_per_class + symbol];
      const bool escapes = symbol >= 4 * distances;
      for (std::uint32_t state = state_count; state < 2 * state_count; ++state) {
        const std::uint32_t nb = (entry + (state << 16)) >> 27;
        ASSERT_LE(nb, state_bits);
        const std::uint32_t next = tables.states[(entry & 0xffff) + (state >> nb)];
        ASSERT_GE(next, state_count);
        ASSERT_LT(next, 2 * state_count);
        const std::uint32_t back =
            tables.decode[CodingTables::front_pad + k * state_count + next - state_count];
        const std::uint32_t x = back >> 6;
        ASSERT_EQ(10 - std::bit_width(x) + 1, static_cast<int>(nb));
        ASSERT_EQ((x << nb) + (state & ((1U << nb) - 1)), state);
        ASSERT_EQ(back & 15, escapes ? CodingTables::escape_distance : symbol / 4);
        ASSERT_EQ(back >> 4 & 1, escapes ? 0 : symbol >> 1 & 1);
        ASSERT_EQ(back >> 5 & 1, escapes ? 0 : symbol & 1);
      }
    }
  }
}

// The encoder's costs must be those of the frequencies it codes with, to the rounding of 1/12 bit.
TEST(DenseTables, CostsFollowTheFrequencies) {
  for (const ClassModel& model : class_models) {
    const auto bits = [](double f) { return std::log2(state_count / f); };
    const double escape = bits(model.frequencies[4U * model.distances]);
    EXPECT_NEAR(model.costs[32], 12 * (escape + 1), 1);
    for (std::uint32_t s = 0; s < 2; ++s) {
      for (std::uint32_t d = 0; d < 16; ++d) {
        double expected = escape + 11;
        if (d < model.distances) {
          const double f0 = model.frequencies[4 * d + 2 * s];
          const double f1 = model.frequencies[4 * d + 2 * s + 1];
          expected = (f0 * bits(f0) + f1 * bits(f1)) / (f0 + f1);
        }
        EXPECT_NEAR(model.costs[16 * s + d], 12 * expected, 1) << s << ' ' << d;
      }
    }
  }
}

}  // namespace
}  // namespace offramp::exact_dense
