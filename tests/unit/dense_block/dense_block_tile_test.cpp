// SPDX-License-Identifier: Apache-2.0
#include "dense_block_fixture.hpp"
#include "unit/exact_block/block_contract.hpp"

#include <gmock/gmock.h>

namespace offramp::exact_dense::block {
namespace {

using exact::block::BlockTile;
using exact::block::BlockTiles;
using exact::block::check;
using exact::block::extent_of;
using exact::block::make_sample;
using exact::block::ragged;
using exact::block::sample_kinds;
using exact::block::Turns;

INSTANTIATE_TEST_SUITE_P(exact_dense, BlockTile, exact::block::each_dtype(dense_code),
                         exact::block::dtype_name);
INSTANTIATE_TEST_SUITE_P(exact_dense, BlockTiles, testing::Values(&dense_code));

// Of which some trailing bits are 0, so that the rest takes every width.
TEST(DenseBlockTiles, CodesTrimmedValues) {
  Turns turns;
  std::vector<int> modes;
  for (const DType dtype : {DType::bf16, DType::fp16, DType::fp32, DType::fp64, DType::fp8_e4m3}) {
    const std::size_t size = size_of(dtype);
    for (unsigned zeros = 1; zeros < mantissa_bits(dtype); zeros += 1 + zeros / 12) {
      for (const TileExtent extent : {extent_of(256, 64), ragged(1000, 33)}) {
        TileSample sample = make_sample(dtype, extent, 13, zeros);
        for (std::size_t k = 0; k < extent.values; ++k) {
          for (unsigned bit = 0; bit < zeros; ++bit) {
            sample.values[k * size + bit / 8] &= ~(std::byte{1} << static_cast<int>(bit % 8));
          }
        }
        modes.push_back(check(dense_code, sample, turns).mode);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_THAT(modes, testing::Contains(int{trimmed_mode}));
}

TEST(DenseBlockTiles, TheSamplesHaveAllFormsOfATile) {
  Turns turns;
  std::vector<int> modes, forms;
  for (const DType dtype : {DType::bf16, DType::fp32, DType::i16}) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      for (const unsigned seed : {1u, 2u}) {
        const Coded coded =
            check(dense_code, make_sample(dtype, extent_of(256, 64), kind, seed), turns);
        modes.push_back(coded.mode);
        if (coded.mode >= plain_mode) forms.push_back(std::to_integer<int>(coded.heap[2]));
      }
    }
  }
  for (const int mode : {int{tiles::raw_mode}, 2, int{plain_mode}, int{sparse_mode}}) {
    EXPECT_THAT(modes, testing::Contains(mode));
  }
  for (const int form : {0, 1, 2}) {
    EXPECT_THAT(forms,
                testing::Contains(testing::ResultOf([](int f) { return f & form_mask; }, form)));
  }
  for (const int flag : {int{wide_tops_flag}, int{changes_flag}}) {
    EXPECT_THAT(forms, testing::Contains(testing::ResultOf([&](int f) { return f & flag; }, flag)));
  }
}

}  // namespace
}  // namespace offramp::exact_dense::block
