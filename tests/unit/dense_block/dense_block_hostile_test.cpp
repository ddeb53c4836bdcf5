// SPDX-License-Identifier: Apache-2.0
#include "dense_block_fixture.hpp"
#include "unit/exact_block/block_hostile_contract.hpp"

namespace offramp::exact_dense::block {
namespace {

using exact::block::BlockHostile;
using exact::block::Case;
using exact::block::extent_of;
using exact::block::make_sample;
using exact::block::ragged;
using exact::block::sample_kinds;

// Tiles in modes of this code; exact's own are tested with it.
const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (const DType dtype :
         {DType::bf16, DType::fp16, DType::fp32, DType::fp64, DType::fp8_e4m3, DType::fp8_e5m2}) {
      for (const auto extent : {extent_of(48, 64), ragged(2500, 23), extent_of(9, 64)}) {
        for (unsigned kind = 0; kind < sample_kinds; ++kind) {
          TileSample sample = make_sample(dtype, extent, kind, kind);
          Coded coded = dense_encode_on_host(sample);
          if (coded.mode >= plain_mode) cases.push_back({std::move(sample), std::move(coded)});
        }
      }
    }
    return cases;
  }();
  return all;
}

INSTANTIATE_TEST_SUITE_P(exact_dense, BlockHostile,
                         testing::Values(exact::block::HostileCode{&dense_code, all_cases}));

}  // namespace
}  // namespace offramp::exact_dense::block
