// SPDX-License-Identifier: Apache-2.0
// The tables and small parts of the block code.
#include "codec/exact_dense/coding_tables.hpp"
#include "dense_block_fixture.hpp"

#include <gtest/gtest.h>

#include <set>

namespace offramp::exact_dense::block {
namespace {

TEST(DenseBlockTables, AreTheHosts) {
  const CodingTables& host = coding_tables();
  const Tables& own = host_tables();
  for (std::size_t k = 0; k < class_count; ++k) {
    for (std::size_t slot = 0; slot < state_count; ++slot) {
      const std::uint32_t entry = own.decode->of[k][slot];
      const std::uint32_t expected = host.decode[CodingTables::front_pad + k * state_count + slot];
      const std::uint32_t x = expected >> 6, nb = entry & count_mask;
      ASSERT_EQ(((entry >> 18) + state_count) >> nb, x);
      ASSERT_GE(x << nb, state_count);
      const std::uint32_t sign = expected >> 4 & 1, top_bit = expected >> 5 & 1;
      const std::uint32_t distance = expected & 15;
      ASSERT_EQ(entry & 0xfff0,
                distance == 15 ? escape_flag : sign << 15 | (14 - distance) << 7 | top_bit << 6);
    }
    for (std::size_t s = 0; s < EncodeTables::symbols_per_class; ++s) {
      ASSERT_EQ(own.encode->symbols[k][s], host.symbols[k * CodingTables::symbols_per_class + s]);
    }
  }
  for (std::size_t i = state_count; i < std::size(own.encode->states); ++i) {
    ASSERT_EQ(own.encode->states[i] + state_count, host.states[i]);
  }
}

TEST(DenseBlockParts, SampledRowsAreTheSpecs) {
  for (std::uint32_t rows = 1; rows <= tiles::tile_rows; ++rows) {
    const SampledRows sampled = SampledRows::of(rows);
    std::set<std::uint32_t> expected, got;
    const std::uint32_t skipped = rows <= 64 ? 0 : rows <= 128 ? 2 : 6;
    for (std::uint32_t r = 0; r < rows; ++r) {
      if ((r & skipped) == 0) expected.insert(r);
    }
    for (std::uint32_t i = 0; i < sampled.count; ++i) got.insert(sampled.row(i));
    ASSERT_EQ(got, expected) << rows;
  }
}

TEST(DenseBlockParts, KeptValuesFillTheirTile) {
  for (std::uint32_t count = 1; count <= 1000; ++count) {
    const InnerPlaces places = InnerPlaces::of(count);
    std::set<std::uint32_t> at;
    for (std::uint32_t k = 0; k < count; ++k) at.insert(places.at(k));
    ASSERT_EQ(at.size(), count);
    ASSERT_EQ(*at.rbegin(), count - 1);
  }
}

}  // namespace
}  // namespace offramp::exact_dense::block
