// SPDX-License-Identifier: Apache-2.0
#include "dense_fixture.hpp"

#include <limits>

namespace offramp::exact_dense {
namespace {

// Every pattern once, in the order given, cut into tiles.
template <class Bits>
void expect_patterns(DType dtype, const std::vector<Bits>& patterns, std::uint32_t width) {
  for (std::size_t at = 0; at < patterns.size();) {
    const auto count = static_cast<std::uint32_t>(
        std::min<std::size_t>(patterns.size() - at, std::size_t{256} * width));
    const std::vector<Bits> tile(patterns.begin() + static_cast<long>(at),
                                 patterns.begin() + static_cast<long>(at + count));
    round_trip(kernels(), dtype, {(count + width - 1) / width, width, count}, bytes_of(tile));
    at += count;
  }
}

TEST(DenseRoundTrip, EveryPatternOf16Bits) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {DType::bf16, DType::fp16}) {
    expect_patterns(dtype, patterns, 64);  // neighbours alike: coded
    expect_patterns(dtype, patterns, 61);
    auto shuffled = patterns;
    std::shuffle(shuffled.begin(), shuffled.end(), Engine(3));
    expect_patterns(dtype, shuffled, 64);
  }
}

// Each pattern among ordinary values, so that it must pass the stream, as an escape where it is
// odd.
TEST(DenseRoundTrip, EveryPatternOf16BitsAmongOrdinaryValues) {
  for (const DType dtype : {DType::bf16, DType::fp16}) {
    std::uint32_t pattern = 0;
    int coded_tiles = 0;
    while (pattern < 65536) {
      Bytes values = normal_channels(dtype, full, pattern, 1);
      for (std::uint32_t i = 0; i < full.values && pattern < 65536; i += 13, ++pattern) {
        store(values.data() + 2 * i, static_cast<std::uint16_t>(pattern));
      }
      coded_tiles += round_trip(kernels(), dtype, full, values).mode == plain_mode;
    }
    EXPECT_GT(coded_tiles, 30) << "few tiles reached the stream";
  }
}

TEST(DenseRoundTrip, EveryPatternOf8Bits) {
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2}) {
    for (std::uint32_t step = 1; step < 256; step += 2) {
      std::vector<std::uint8_t> patterns(4096);
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        patterns[i] = static_cast<std::uint8_t>(i * step / (i % 3 == 0 ? 1 : 16));
      }
      expect_patterns(dtype, patterns, 64);
    }
  }
}

template <class Bits>
void expect_specials(DType dtype) {
  const unsigned mantissa = mantissa_bits(dtype);
  const Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits infinity = static_cast<Bits>(sign - 1) >> mantissa << mantissa;
  std::vector<Bits> specials{0, 1, static_cast<Bits>(infinity - 1), infinity, infinity + 1};
  for (unsigned b = 0; b < mantissa; ++b) {
    specials.push_back(Bits{1} << b);               // subnormals
    specials.push_back(infinity | (Bits{1} << b));  // NaN payloads
    specials.push_back(infinity | (Bits{1} << b) | 1);
  }
  const std::size_t positive = specials.size();
  for (std::size_t i = 0; i < positive; ++i) specials.push_back(specials[i] | sign);
  for (const std::size_t every : {1, 9, 40}) {
    Bytes values = normal_channels(dtype, full, 5, 2);
    for (std::size_t i = 0; i < full.values; i += every) {
      store(values.data() + i * sizeof(Bits), specials[i / every % specials.size()]);
    }
    const Coded coded = round_trip(kernels(), dtype, full, values);
    // fp64's greatest finite value has no word.
    if (every == 40 && dtype == DType::fp32) {
      EXPECT_EQ(coded.mode, plain_mode);
    }
  }
}

TEST(DenseRoundTrip, SpecialsOfWideFloats) {
  expect_specials<std::uint32_t>(DType::fp32);
  expect_specials<std::uint64_t>(DType::fp64);
}

// fp64 beyond the exponents that words name goes to the exact code, not wrong.
TEST(DenseRoundTrip, Fp64OutOfTheWordsRange) {
  for (const double edge : {std::ldexp(1.0, -127), std::ldexp(1.0, -126), std::ldexp(1.0, 127),
                            std::ldexp(1.0, 128), 1e-300, 1e300}) {
    Bytes values = normal_channels(DType::fp64, full, 8);
    store(values.data() + 800, edge);
    const Coded coded = round_trip(kernels(), DType::fp64, full, values);
    const bool fits = edge >= std::ldexp(1.0, -126) && edge <= std::ldexp(1.0, 127);
    EXPECT_EQ(coded.mode == plain_mode, fits) << edge;
  }
}

TEST(DenseRoundTrip, AnyExtentAnyDtype) {
  Engine random(11);
  for (int i = 0; i < 300; ++i) {
    const DType dtype = *dtype_from_id(static_cast<std::uint8_t>(1 + random() % max_dtype));
    const std::uint32_t width = 1 + random() % 64;
    const std::uint32_t rows = 1 + random() % (random() % 2 == 0 ? 24 : 256);
    const TileExtent extent = extent_of(rows, width, random() % width);
    Bytes values;
    if (mantissa_bits(dtype) > 0 && random() % 4 != 0) {
      const std::uint32_t zeros = random() % 3 == 0 ? random() % 100 : 0;
      values = normal_channels(dtype, extent, random(), static_cast<int>(random() % 20));
      const std::size_t size = size_of(dtype);
      for (std::uint32_t v = 0; v < extent.values; ++v) {
        if (random() % 100 < zeros) std::fill_n(values.begin() + v * size, size, std::byte{0});
      }
    } else {
      values = random_bytes(extent.values * size_of(dtype), random());
      if (random() % 2 == 0) {
        for (std::size_t b = 0; b < values.size(); ++b) values[b] &= std::byte{0x07};
      }
    }
    SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(rows) + "x" +
                 std::to_string(width) + " values " + std::to_string(extent.values));
    round_trip(kernels(), dtype, extent, values);
  }
}

}  // namespace
}  // namespace offramp::exact_dense
