// SPDX-License-Identifier: Apache-2.0
#include "unit/exact_block/block_hostile_contract.hpp"

namespace offramp::exact::block {
namespace {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (const DType dtype : testing_samples::all_dtypes()) {
      for (const auto extent : {extent_of(40, 64), ragged(2500, 23), extent_of(9, 64)}) {
        for (unsigned kind = 0; kind < sample_kinds; ++kind) {
          TileSample sample = make_sample(dtype, extent, kind, kind);
          Coded coded = encode_on_host(sample);
          cases.push_back({std::move(sample), std::move(coded)});
        }
      }
    }
    return cases;
  }();
  return all;
}

INSTANTIATE_TEST_SUITE_P(exact, BlockHostile, testing::Values(HostileCode{&exact_code, all_cases}));

// Elias-Fano may not be larger than a bitmap, whatever room its section has.
TEST(ExactBlockHostile, PositionsLargerThanABitmap) {
  CpuBlock block(256);
  const TileExtent extent = extent_of(256, 64);
  for (const std::uint32_t count : {16000u, 2000u, 1200u}) {
    Positions positions{PositionCode::elias_fano, false, 13, 256, extent.values, count};
    Coded coded{sparse_mode, ByteVector(positions_size(positions, 256) + header_size_of(2)), {}};
    store(coded.body.data(), 2u | positions.low_bits << 8 | positions.kept_rows << 16);
    store(coded.body.data() + 4, count);
    // Rising positions: 0, 1, 2, ...
    std::byte* const low = coded.body.data() + positions_header_size;
    std::byte* const high = low + positions.low_size();
    const auto set = [](std::byte* bits, std::uint32_t at) {
      bits[at / 8] |= std::byte{1} << static_cast<int>(at % 8);
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t b = 0; b < 13; ++b) {
        if (i >> b & 1) set(low, 13 * i + b);
      }
      set(high, (i >> 13) + i);
    }
    const bool is_smaller = positions.code_size() < positions.bitmap_size();
    EXPECT_EQ(both_take(exact_code, block, DType::bf16, extent, coded), is_smaller) << count;
  }
}

}  // namespace
}  // namespace offramp::exact::block
