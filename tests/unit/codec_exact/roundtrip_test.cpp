// SPDX-License-Identifier: Apache-2.0
#include "exact_fixture.hpp"

namespace offramp::exact {
namespace {

constexpr std::uint32_t tile_size = tiles::tile_values;

class EveryDType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Exact, EveryDType, testing::ValuesIn(all_dtypes()),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(EveryDType, RandomBitsOfManyExtents) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto width = static_cast<std::uint32_t>(i % 3 == 0 ? 64 : 1 + random() % 64);
    const auto values = static_cast<std::uint32_t>(1 + random() % (256 * width));
    Bytes bytes(values * size_of(GetParam()));
    for (auto& b : bytes) b = static_cast<std::byte>(random());
    check_round_trip(GetParam(), ragged(values, width), bytes);
  }
}

TEST_P(EveryDType, PlausibleValuesOfManyExtents) {
  std::mt19937 random(8);
  for (unsigned i = 0; i < 60; ++i) {
    const std::uint32_t width = i % 3 == 0 ? 64 : 1 + random() % 64;
    const auto extent = ragged(static_cast<std::uint32_t>(1 + random() % (256 * width)), width);
    check_round_trip(GetParam(), extent, values_for(GetParam(), extent, i));
  }
}

TEST_P(EveryDType, EdgesOfExtents) {
  for (const auto extent :
       {extent_of(1, 1), extent_of(1, 64), extent_of(256, 1), extent_of(8, 64), extent_of(32, 64),
        extent_of(33, 64), extent_of(256, 64), ragged(511, 64), ragged(513, 64), ragged(2047, 63),
        ragged(2049, 64), ragged(16383, 64)}) {
    check_round_trip(GetParam(), extent, values_for(GetParam(), extent, 3));
  }
}

TEST_P(EveryDType, SparseValuesOfAllDensities) {
  std::mt19937 random(9);
  for (int percent = 0; percent <= 100; percent += 4) {
    for (const auto extent : {extent_of(256, 64), ragged(1001, 37), extent_of(64, 64)}) {
      Bytes bytes = values_for(GetParam(), extent, 5);
      const std::size_t size = size_of(GetParam());
      for (std::size_t k = 0; k < extent.values; ++k) {
        if (random() % 100 < static_cast<unsigned>(percent)) {
          std::fill_n(bytes.begin() + static_cast<long>(k * size), size, std::byte{});
        }
      }
      check_round_trip(GetParam(), extent, bytes);
    }
  }
}

TEST(ExactRoundTrip, EveryPatternOf16Bits) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (int order = 0; order < 2; ++order) {
    for (const DType dtype : {DType::bf16, DType::fp16, DType::i16, DType::u16}) {
      for (std::size_t from = 0; from < all.size(); from += tile_size) {
        const std::span values(all.data() + from, tile_size);
        check_round_trip(dtype, extent_of(256, 64), std::as_bytes(values));
      }
    }
    std::shuffle(all.begin(), all.end(), std::mt19937(1));
  }
}

// Every pattern must survive the tiered modes too, not only as raw: each is set among plain data.
TEST(ExactRoundTrip, EveryPatternOf16BitsAmongOrdinaryData) {
  for (const DType dtype : {DType::bf16, DType::fp16}) {
    int tiered = 0;
    for (unsigned from = 0; from < 65536; from += 1024) {
      const auto extent = extent_of(256, 64);
      Bytes bytes = values_for(dtype, extent, from);
      for (unsigned i = 0; i < 1024; ++i) {
        store(bytes.data() + 2 * (16 * i + i % 13), static_cast<std::uint16_t>(from + i));
      }
      tiered += check_round_trip(dtype, extent, bytes).mode == tiered_mode;
    }
    EXPECT_EQ(tiered, 64) << name_of(dtype);
  }
}

TEST(ExactRoundTrip, EveryPatternOf8Bits) {
  std::vector<std::uint8_t> all(tile_size);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i * 37);
  for (const DType dtype : all_dtypes()) {
    if (size_of(dtype) != 1) continue;
    check_round_trip(dtype, extent_of(256, 64), std::as_bytes(std::span(all)));
    check_round_trip(dtype, extent_of(16, 16), std::as_bytes(std::span(all)).first(256));
  }
}

template <class Bits, class Float>
void check_special_floats(DType dtype, Bits payload) {
  const auto extent = extent_of(256, 64);
  std::vector<Float> values(extent.values);
  const auto plain = channel_values(extent, 4);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<Float>(plain[k] / 3);
  const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  const Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits special[] = {infinity,
                          infinity | sign,
                          infinity | 1,
                          infinity | payload,
                          infinity | payload | sign,
                          0,
                          sign,
                          1,
                          sign | 1,
                          std::bit_cast<Bits>(std::numeric_limits<Float>::min()) - 1,
                          std::bit_cast<Bits>(std::numeric_limits<Float>::max()),
                          std::bit_cast<Bits>(std::numeric_limits<Float>::lowest())};
  for (std::size_t i = 0; i < std::size(special); ++i) {
    for (std::size_t k = i; k < values.size(); k += 97)
      std::memcpy(&values[k], &special[i], sizeof(Bits));
    check_round_trip(dtype, extent, bytes_of_values(values));
  }
  for (std::size_t k = 0; k < values.size(); ++k) {  // subnormals only
    const Bits bits = static_cast<Bits>(k * 2654435761u) & (payload >> 1);
    std::memcpy(&values[k], &bits, sizeof(Bits));
  }
  check_round_trip(dtype, extent, bytes_of_values(values));
}

TEST(ExactRoundTrip, NanPayloadsInfinitiesZerosAndSubnormals) {
  check_special_floats<std::uint32_t, float>(DType::fp32, 0x2bcdef);
  check_special_floats<std::uint64_t, double>(DType::fp64, 0x5'a5a5'0123'4567);
}

}  // namespace
}  // namespace offramp::exact
