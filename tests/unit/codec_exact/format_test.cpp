// SPDX-License-Identifier: Apache-2.0
// The bytes themselves: a change of the format that still comes back is a change.
#include "core/hash.hpp"
#include "exact_fixture.hpp"

#include <map>

namespace offramp::exact {
namespace {

// Bits that need no arithmetic of the machine: exponents fall off geometrically from a centre by
// channel, all else is random.
Bytes pattern(DType dtype, tiles::TileExtent extent, bool sparse) {
  std::mt19937_64 random(static_cast<unsigned>(dtype));
  const std::size_t size = size_of(dtype);
  Bytes bytes(extent.values * size);
  for (std::size_t k = 0; k < extent.values; ++k) {
    const std::uint64_t bits = random();
    if (sparse && bits % 8 != 0) continue;
    const auto fall = static_cast<std::uint64_t>(std::countr_zero(bits >> 8 | 1u << 20));
    const std::uint64_t e = 12 - fall % 8 + k % extent.width % 3;
    std::uint64_t value = random();
    switch (dtype) {
      case DType::bf16:
        value = (value & 0x807f) | (e + 110) << 7;
        break;
      case DType::fp16:
        value = (value & 0x83ff) | e << 10;
        break;
      case DType::fp32:
        value = (value & 0x807f'ffff) | (e + 110) << 23;
        break;
      case DType::fp64:
        value = (value & 0x800f'ffff'ffff'ffff) | (e + 1010) << 52;
        break;
      case DType::fp8_e4m3:
        value = (value & 0x87) | e << 3;
        break;
      case DType::fp8_e5m2:
        value = (value & 0x83) | e << 2;
        break;
      default:  // integers: near zero, of both signs
        value = (value & 1) != 0 ? bits >> 40 & 0x7f : ~(bits >> 40 & 0x3f);
        break;
    }
    std::memcpy(bytes.data() + k * size, &value, size);
  }
  return bytes;
}

std::uint64_t fingerprint(DType dtype) {
  Bytes all;
  for (const auto extent : {extent_of(256, 64), ragged(3001, 40), extent_of(16, 64)}) {
    for (const bool sparse : {false, true}) {
      const Coded coded = encode(fast_kernels(), dtype, extent, pattern(dtype, extent, sparse));
      all.push_back(std::byte{coded.mode});
      all.insert(all.end(), coded.body.begin(), coded.body.end());
      all.insert(all.end(), coded.heap.begin(), coded.heap.end());
    }
  }
  return xxh3_64(all);
}

TEST(ExactFormat, BytesAreAsTheyWere) {
  const std::map<DType, std::uint64_t> known = {
      {DType::bf16, 0xe0208a39e024e710},     {DType::fp16, 0x4873aa8e5dacb8f9},
      {DType::fp32, 0x85633d33f3f742d2},     {DType::fp64, 0xa32576ce4feb3927},
      {DType::fp8_e4m3, 0x58d918e0218d1eaa}, {DType::fp8_e5m2, 0x255d214d4f685400},
      {DType::u8, 0xbaaa2f871547c491},       {DType::i8, 0x26e298a14c8480bd},
      {DType::i16, 0x99237abf59e5f5f4},      {DType::i32, 0xb8322d466c22acc4},
      {DType::i64, 0xef457d4e1329e23e},      {DType::boolean, 0xcb28a4893c15818e},
      {DType::u16, 0x34880a87dd38009d},      {DType::u32, 0xd6573adf432b1ec4},
      {DType::u64, 0x5c3f459fc7203d1a},
  };
  for (const DType dtype : all_dtypes()) {
    const std::uint64_t got = fingerprint(dtype);
    const auto at = known.find(dtype);
    ASSERT_NE(at, known.end());
    EXPECT_EQ(got, at->second) << name_of(dtype) << std::hex << " 0x" << got;
  }
}

// A tile small enough to follow spec.md by hand: 512 values of bf16, one block.
TEST(ExactFormat, OneBlockByHand) {
  const auto extent = extent_of(8, 64);
  std::vector<std::uint16_t> values(512);
  // Exponents 100 to 102, and mantissas that vary in all bits; value 9 (row 0, lane 1, column 1)
  // is at distance -1: tier 2, code 1. Value 64 (row 1, lane 0, column 0) is far away: raw.
  for (unsigned k = 0; k < 512; ++k) {
    const unsigned e = k == 9 ? 99 : k == 64 ? 200 : 100 + k % 3;
    values[k] = static_cast<std::uint16_t>((k & 1) << 15 | e << 7 | (k * 5 & 0x7f));
  }
  const Coded coded = check_round_trip(DType::bf16, extent, bytes_of_values(values));
  ASSERT_EQ(coded.mode, tiered_mode);
  ASSERT_EQ(coded.body.size(), 128u + 512);
  const auto u8 = [](const Bytes& b, std::size_t i) { return std::to_integer<unsigned>(b[i]); };
  ASSERT_EQ(coded.heap.size(), 32u);
  EXPECT_EQ(u8(coded.heap, 0), 100u);  // the shared base
  EXPECT_EQ(u8(coded.heap, 1), 1u);    // its kind
  for (std::size_t i = 2; i < 16; ++i) EXPECT_EQ(u8(coded.heap, i), 0u);
  const auto word = [&](std::size_t lane, std::size_t column) {
    return u8(coded.body, 16 * lane + 2 * column) | u8(coded.body, 1 + 16 * lane + 2 * column) << 8;
  };
  for (unsigned row = 0; row < 8; ++row) {
    for (unsigned c = 0; c < 64; ++c) {
      const unsigned k = 64 * row + c;
      const unsigned code = k == 9 || k == 64 ? 3 : k % 3;
      EXPECT_EQ(word(c / 8, c % 8) >> (14 - 2 * row) & 3, code) << k;
    }
  }
  // Row 1 of lane 0 goes on before row 0 of lane 1: first the far value (code 3, code 3, code 3,
  // raw), then d = -1.
  const unsigned v = (100 + 3 - 200) & 0xff;
  const unsigned expected[8] = {3 | 1 << 4, 0, 3, 3, v, 0, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(u8(coded.heap, 16 + i), expected[i]) << i;
  // Rest plane: rows 0 and 1 of lane 0, then of lane 1; signs of neighbours are exchanged.
  for (unsigned i = 0; i < 128; ++i) {
    const unsigned k = i / 8 % 2 * 64 + i / 16 * 8 + i % 8;
    EXPECT_EQ(u8(coded.body, 128 + i), (k * 5 & 0x7f) << 1 | ((k ^ 1) & 1)) << i;
  }
}

TEST(ExactFormat, DoublesBetween2ToMinus128And2To127ShareTheirHighPart) {
  const auto extent = extent_of(256, 64);
  std::vector<double> values(extent.values);
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = std::ldexp(1.0, static_cast<int>(k % 256) - 128);
  }
  // 8 bits of plane 0 in bytes, no other plane varies.
  const Coded coded = check_round_trip(DType::fp64, extent, bytes_of_values(values));
  EXPECT_EQ(coded.size(), 32u + extent.values);
}

}  // namespace
}  // namespace offramp::exact
