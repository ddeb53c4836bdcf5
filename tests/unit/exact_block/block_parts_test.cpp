// SPDX-License-Identifier: Apache-2.0
// The arithmetic that the block code rests on, over all that it may be given.
#include "block_fixture.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace offramp::exact::block {
namespace {

TEST(ExactBlockParts, DividesLikeTheProcessor) {
  for (std::uint32_t width = 1; width <= tile_width; ++width) {
    const RowDivider divider(width);
    for (std::uint32_t k = 0; k < 2 * tile_values; ++k) {
      ASSERT_EQ(divider.row(k), k / width) << k << " by " << width;
      ASSERT_EQ(divider.column(k), k % width) << k << " by " << width;
    }
  }
}

TEST(ExactBlockParts, SpreadsAndGathersBits) {
  for (int bit = 0; bit < 8; ++bit) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      const std::uint64_t bytes = spread_bit(static_cast<std::uint8_t>(bits), bit);
      for (std::uint32_t i = 0; i < 8; ++i) {
        ASSERT_EQ(byte_of(bytes, i), (bits >> i & 1) << bit);
      }
      ASSERT_EQ(
          gather_bit(bytes | (~low_bit_of_bytes << bit | (low_bit_of_bytes << bit) >> 1), bit),
          bits);
    }
  }
}

TEST(ExactBlockParts, SubtractsBytesWithoutBorrowing) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t a = random(), b = round % 2 == 0 ? random() : a + (random() & 0xff);
    const std::uint64_t difference = subtract_bytes(a, b);
    for (std::uint32_t i = 0; i < 8; ++i) {
      ASSERT_EQ(byte_of(difference, i), static_cast<std::uint8_t>(byte_of(a, i) - byte_of(b, i)));
    }
    ASSERT_EQ(mirror(b, mirror(b, a)), a);
  }
}

TEST(ExactBlockParts, EveryValueHasOneTier) {
  for (unsigned v = 0; v < 256; ++v) {
    const auto byte = static_cast<std::uint8_t>(v);
    const std::uint32_t left = tiers_left_by(byte);
    for (int tier = 1; tier <= static_cast<int>(left); ++tier) ASSERT_EQ(code_of(tier, byte), 3u);
    if (left == 4) continue;
    const int tier = static_cast<int>(left) + 1;
    ASSERT_LT(code_of(tier, byte), 3u);
    ASSERT_EQ(byte_of(values_of_codes(tier), code_of(tier, byte)), v);
  }
}

TEST(ExactBlockParts, GroupsOfABytePlaneAreAPermutation) {
  for (const std::uint32_t n : {8u, 511u, 512u, 513u, 2047u, 5000u, 16384u}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < div_up(n, 8); ++i) seen.insert(first_of_group(i, n));
    EXPECT_EQ(seen.size(), div_up(n, 8));
    EXPECT_EQ(*seen.rbegin(), div_up(n, 8) * 8 - 8);
  }
}

TEST(ExactBlockParts, ItemsOfATierCoverTheValuesOnce) {
  for (const std::uint32_t n : {1u, 9u, 511u, 512u, 520u, 2048u, 2049u, 16383u, 16384u}) {
    const TierItems items{n};
    std::vector<int> seen(n);
    std::uint32_t codes = 0;
    for (std::uint32_t i = 0; i < items.count(); ++i) {
      EXPECT_EQ(items.codes_at(i), codes);
      codes += items.is_lane(i) ? lane_code_size : codes_size(1, items.size(i));
      for (std::uint32_t row = 0; row < (items.is_lane(i) ? 8u : 1u); ++row) {
        for (std::uint32_t c = 0; c < items.size(i); ++c) ++seen[items.first(i) + 64 * row + c];
      }
    }
    EXPECT_EQ(codes, div_up(n, 4));
    EXPECT_EQ(std::vector<int>(n, 1), seen);
  }
}

TEST(ExactBlockParts, PairsHoldEachSampledRow) {
  for (std::uint32_t rows = 1; rows <= tiles::tile_rows; ++rows) {
    const SampledRows sample(rows);
    std::set<std::uint32_t> sampled, paired;
    for (std::uint32_t i = 0; i < sample.count(); ++i) sampled.insert(sample.row(i));
    for (std::uint32_t i = 0; i < sample.pairs(); ++i) {
      paired.insert(sample.pair_row(i));
      paired.insert(sample.partner(sample.pair_row(i)));
    }
    ASSERT_EQ(sampled.size(), sample.count());
    ASSERT_EQ(sampled, paired) << rows << " rows";
    ASSERT_LT(*sampled.rbegin(), rows);
    ASSERT_LE(sampled.size(), 64u);
  }
}

}  // namespace
}  // namespace offramp::exact::block
