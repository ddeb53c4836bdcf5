// SPDX-License-Identifier: Apache-2.0
// Each kind of data takes the mode made for it, and shrinks as it deserves.
#include "exact_fixture.hpp"

#include <algorithm>

namespace offramp::exact {
namespace {

constexpr auto full = tiles::TileExtent{256, 64, 256 * 64};
constexpr std::size_t n = full.values;
constexpr std::size_t bit = n / 8;  // bytes that one bit a value takes in a full tile

template <class T, class F>
Bytes made(tiles::TileExtent extent, F&& f) {
  std::vector<T> values(extent.values);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(f(k));
  return bytes_of_values(values);
}

Bytes bf16_tile(tiles::TileExtent extent, float scale_spread, unsigned seed = 1) {
  const auto x = channel_values(extent, seed, scale_spread);
  return made<std::uint16_t>(extent, [&](std::size_t k) { return bf16_bits(x[k]); });
}

// Coded size in bits a value.
double bits_of(const Coded& coded, std::size_t values = n) {
  return 8.0 * static_cast<double>(coded.size()) / static_cast<double>(values);
}

TEST(ExactModes, ChannelsOfLikeScaleTakeNibbleBases) {
  const Coded coded = check_round_trip(DType::bf16, full, bf16_tile(full, 2.0f));
  EXPECT_EQ(coded.mode, tiered_mode);
  EXPECT_EQ(coded.body.size(), n / 4 + n);
  EXPECT_EQ(bases_of(coded), Bases::nibble);
  EXPECT_LT(bits_of(coded), 10.72);
}

TEST(ExactModes, ChannelsFarApartTakeByteBases) {
  const Coded coded = check_round_trip(DType::bf16, full, bf16_tile(full, 8.0f));
  EXPECT_EQ(coded.mode, tiered_mode);
  EXPECT_EQ(coded.body.size(), n / 4 + n);
  EXPECT_EQ(bases_of(coded), Bases::byte);
  EXPECT_LT(bits_of(coded), 10.74);
}

TEST(ExactModes, OneDistributionTakesASharedBase) {
  const Coded coded = check_round_trip(DType::bf16, full, bf16_tile(full, 0.0f));
  EXPECT_EQ(coded.mode, tiered_mode);
  EXPECT_EQ(coded.body.size(), n / 4 + n);
  EXPECT_EQ(bases_of(coded), Bases::shared);
  EXPECT_LT(bits_of(coded), 10.66);
}

TEST(ExactModes, AFewRowsOfAPagedCacheShrinkNearlyAsMuch) {
  for (const std::uint32_t rows : {8u, 16u, 32u}) {
    const auto extent = extent_of(rows, 64);
    const Coded coded = check_round_trip(DType::bf16, extent, bf16_tile(extent, 1.5f));
    EXPECT_EQ(coded.mode, tiered_mode);
    EXPECT_LT(bits_of(coded, extent.values), rows == 8 ? 11.6 : 11.25) << rows;
  }
  const auto narrow = ragged(16 * 50 - 3, 50);  // no padding to blocks or to 64 columns
  EXPECT_LT(bits_of(check_round_trip(DType::bf16, narrow, bf16_tile(narrow, 1.5f)), narrow.values),
            11.6);
}

TEST(ExactModes, RandomBitsAreStored) {
  std::mt19937_64 random(1);
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::boolean) continue;
    Bytes bytes(n * size_of(dtype));
    for (auto& b : bytes) b = static_cast<std::byte>(random());
    const Coded coded = check_round_trip(dtype, full, bytes);
    // The exponents of random narrow floats are no better than plain bits either.
    EXPECT_EQ(coded.mode, tiles::raw_mode) << name_of(dtype);
    EXPECT_EQ(coded.size(), bytes.size());
  }
}

TEST(ExactModes, ConstantTilesAreTiny) {
  std::mt19937_64 random(1);
  for (const DType dtype : all_dtypes()) {
    Bytes bytes(n * size_of(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = i < size_of(dtype) ? static_cast<std::byte>(random()) : bytes[i - size_of(dtype)];
    }
    EXPECT_LE(check_round_trip(dtype, full, bytes).size(), 32u) << name_of(dtype);
    std::fill(bytes.begin(), bytes.end(), std::byte{});
    EXPECT_LE(check_round_trip(dtype, full, bytes).size(), 32u) << name_of(dtype);
  }
}

TEST(ExactModes, WideFloatsThatAreNarrowLoseTheirZeros) {
  const auto x = channel_values(full, 2, 2.0f);
  const auto cut = [&](std::size_t k, unsigned low_bits) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x[k]) >> low_bits << low_bits);
  };
  const auto as_bf16 = made<float>(full, [&](std::size_t k) { return cut(k, 16); });
  Coded coded = check_round_trip(DType::fp32, full, as_bf16);
  EXPECT_EQ(coded.mode, planes_mode);
  EXPECT_LT(bits_of(coded), 10.73);
  const auto as_fp16 = made<float>(full, [&](std::size_t k) { return cut(k, 13); });
  EXPECT_LT(bits_of(check_round_trip(DType::fp32, full, as_fp16)), 13.73);
  const auto as_double = made<double>(full, [&](std::size_t k) { return x[k]; });
  EXPECT_LT(bits_of(check_round_trip(DType::fp64, full, as_double)), 26.74);
  const auto bf16_double = made<double>(full, [&](std::size_t k) { return cut(k, 16); });
  EXPECT_LT(bits_of(check_round_trip(DType::fp64, full, bf16_double)), 10.74);
}

TEST(ExactModes, PlainWideFloatsSaveTheirExponents) {
  const auto x = channel_values(full, 2, 2.0f);
  Coded coded =
      check_round_trip(DType::fp32, full, made<float>(full, [&](std::size_t k) { return x[k]; }));
  EXPECT_EQ(coded.mode, tiered_mode);
  EXPECT_LT(bits_of(coded), 26.72);
  for (const DType dtype : {DType::fp16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    coded = check_round_trip(dtype, full, values_for(dtype, full, 2));
    const double rest = dtype == DType::fp16 ? 11 : dtype == DType::fp8_e4m3 ? 4 : 3;
    EXPECT_LT(bits_of(coded), rest + 2.85) << name_of(dtype);
  }
}

TEST(ExactModes, ConstantSignsAndSubnormalsTakeBits) {
  const auto x = channel_values(full, 2, 2.0f);
  const auto positive =
      made<std::uint16_t>(full, [&](std::size_t k) { return bf16_bits(std::abs(x[k])); });
  const Coded coded = check_round_trip(DType::bf16, full, positive);
  EXPECT_EQ(coded.mode, planes_mode);
  EXPECT_LT(bits_of(coded), 9.74);
  const auto subnormal = made<std::uint16_t>(
      full, [&](std::size_t k) { return (k * 40503 >> 3 & 0x7f) | (k % 3 == 0) << 15; });
  EXPECT_EQ(check_round_trip(DType::bf16, full, subnormal).size(), 16 + n);
}

TEST(ExactModes, BooleansTakeOneBitAndSmallIntegersTheirOwn) {
  std::mt19937_64 random(3);
  const auto flags = made<std::uint8_t>(full, [&](auto) { return random() & 1; });
  EXPECT_EQ(check_round_trip(DType::boolean, full, flags).size(), 16 + bit);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto nibbles = [&](auto) { return draw(-8, 7); };
  EXPECT_EQ(check_round_trip(DType::i8, full, made<std::int8_t>(full, nibbles)).size(),
            16 + 4 * bit);
  EXPECT_EQ(check_round_trip(DType::i32, full, made<std::int32_t>(full, nibbles)).size(),
            16 + 4 * bit);
  EXPECT_EQ(check_round_trip(DType::i64, full, made<std::int64_t>(full, nibbles)).size(),
            32 + 4 * bit);
  const auto tokens = [&](auto) { return draw(0, 32767); };
  EXPECT_EQ(check_round_trip(DType::i64, full, made<std::int64_t>(full, tokens)).size(),
            32 + 15 * bit);
  EXPECT_EQ(check_round_trip(DType::u32, full, made<std::uint32_t>(full, tokens)).size(),
            16 + 15 * bit);
  // 12 bits at the top of 16, as cameras give them.
  const auto shifted = [&](auto) { return draw(0, 4095) << 4; };
  EXPECT_EQ(check_round_trip(DType::u16, full, made<std::uint16_t>(full, shifted)).size(),
            16 + 12 * bit);
}

TEST(ExactModes, IntegersThatCrowdAroundZeroTakeTiers) {
  std::mt19937 random(3);
  std::exponential_distribution<double> size(1.0 / 80);
  const auto x = made<std::int32_t>(
      full, [&](std::size_t k) { return std::lround(size(random)) * (k % 2 ? 1 : -1); });
  const Coded coded = check_round_trip(DType::i32, full, x);
  EXPECT_GT(coded.heap.size(), 0u);
  EXPECT_LT(bits_of(coded), 10.2);  // 8 low bits, and a high byte that is seldom above 2
}

double entropy(double p) {
  return p <= 0 || p >= 1 ? 0 : -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

TEST(ExactModes, SparseTilesShrinkAsTheyDeserve) {
  const Coded dense = check_round_trip(DType::bf16, full, bf16_tile(full, 0.0f));
  for (const int percent : {50, 60, 70, 75, 80, 85, 90, 95, 98, 99}) {
    std::mt19937 random(5);
    Bytes bytes = bf16_tile(full, 0.0f);
    std::size_t left = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (random() % 100 < static_cast<unsigned>(percent)) {
        store(bytes.data() + 2 * k, std::uint16_t{0});
      } else {
        ++left;
      }
    }
    const Coded coded = check_round_trip(DType::bf16, full, bytes);
    EXPECT_EQ(coded.mode, sparse_mode);
    const double p = static_cast<double>(left) / n;
    const double deserved = entropy(p) + p * bits_of(dense);
    EXPECT_LT(bits_of(coded), 1.06 * deserved + 0.06) << percent << " deserves " << deserved;
  }
}

TEST(ExactModes, NearlyEmptyTilesAreNearlyNothing) {
  for (const DType dtype : all_dtypes()) {
    Bytes bytes(n * size_of(dtype));
    bytes[12345 * size_of(dtype)] = std::byte{1};
    EXPECT_LE(check_round_trip(dtype, full, bytes).size(), 112u) << name_of(dtype);
  }
}

TEST(ExactModes, ZeroRowsAreDroppedAndChannelsKept) {
  Bytes bytes = bf16_tile(full, 2.0f);
  std::fill(bytes.begin() + 100 * 128, bytes.end(), std::byte{});  // tokens 100 and on: padding
  const Coded coded = check_round_trip(DType::bf16, full, bytes);
  EXPECT_EQ(coded.mode, sparse_mode);
  const auto head = extent_of(100, 64);
  const Coded dense = check_round_trip(DType::bf16, head, std::span(bytes).first(100 * 128));
  EXPECT_LE(coded.size(), dense.size() + 64);
}

}  // namespace
}  // namespace offramp::exact
