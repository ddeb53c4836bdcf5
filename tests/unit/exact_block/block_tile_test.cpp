// SPDX-License-Identifier: Apache-2.0
#include "unit/exact_block/block_contract.hpp"

#include <gmock/gmock.h>

namespace offramp::exact::block {
namespace {

INSTANTIATE_TEST_SUITE_P(exact, BlockTile, each_dtype(exact_code), dtype_name);
INSTANTIATE_TEST_SUITE_P(exact, BlockTiles, testing::Values(&exact_code));

TEST(ExactBlockTiles, TheSamplesHaveAllFormsOfATile) {
  Turns turns;
  std::vector<int> modes, kinds, position_codes;
  for (const DType dtype : {DType::bf16, DType::fp32, DType::i16}) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      for (const unsigned seed : {1u, 2u}) {
        const Coded coded =
            check(exact_code, make_sample(dtype, extent_of(256, 64), kind, seed), turns);
        modes.push_back(coded.mode);
        if (coded.mode == tiered_mode) kinds.push_back(std::to_integer<int>(coded.heap[1]));
        if (coded.mode == sparse_mode) {
          position_codes.push_back(std::to_integer<int>(coded.body[0]));
        }
      }
    }
  }
  for (const int mode :
       {int{tiles::raw_mode}, int{tiered_mode}, int{planes_mode}, int{sparse_mode}})
    EXPECT_THAT(modes, testing::Contains(mode));
  for (const int kind : {1, 2, 3}) EXPECT_THAT(kinds, testing::Contains(kind));
  for (const int flags : {1, 2, 4, 5}) EXPECT_THAT(position_codes, testing::Contains(flags));
}

}  // namespace
}  // namespace offramp::exact::block
