// SPDX-License-Identifier: Apache-2.0
// What any tile code by a block of threads must do: give the host's bytes and take them back,
// whatever the dtype, the extent, the pitch, the address and the number of threads.
#pragma once

#include "contract/tensor_samples.hpp"
#include "unit/exact_block/block_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <tuple>

namespace offramp::exact::block {

/// The blocks and places that successive samples are tried with.
class Turns {
 public:
  [[nodiscard]] CpuBlock block() {
    using Order = CpuBlock::Order;
    constexpr std::array sizes{256u, 1u, 32u, 7u, 256u};
    constexpr std::array orders{Order::shuffled, Order::falling, Order::rising};
    ++turn_;
    return CpuBlock(sizes[turn_ % sizes.size()], orders[turn_ % orders.size()]);
  }
  [[nodiscard]] Place place() const {
    constexpr std::array<std::uint64_t, 4> gaps{0, 1, 64, 4031};
    constexpr std::array<std::size_t, 7> skews{0, 0, 1, 16, 3, 8, 5};
    return {gaps[turn_ % gaps.size()], skews[turn_ % skews.size()]};
  }

 private:
  std::size_t turn_{};
};

/// Codes a sample by both and compares. Returns the coded tile.
inline Coded check(const TileCode& code, const TileSample& sample, Turns& turns) {
  const Coded host = code.encode_on_host(sample);
  CpuBlock block = turns.block();
  const Coded coded = code.encode_by_block(block, sample, turns.place());
  EXPECT_EQ(int{coded.mode}, int{host.mode}) << sample.name();
  EXPECT_EQ(coded.body.size(), host.body.size()) << sample.name();
  EXPECT_EQ(coded.heap.size(), host.heap.size()) << sample.name();
  EXPECT_TRUE(coded == host) << sample.name() << " mode " << int{host.mode};
  ByteVector back;
  EXPECT_TRUE(code.decode_by_block(block, sample.dtype, sample.extent, host, turns.place(), back))
      << sample.name() << " mode " << int{host.mode};
  EXPECT_TRUE(back == sample.values) << sample.name() << " mode " << int{host.mode};
  return coded;
}

class BlockTile : public testing::TestWithParam<std::tuple<const TileCode*, DType>> {
 protected:
  const TileCode& code() const { return *std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Turns turns;
};

TEST_P(BlockTile, GivesTheBytesOfTheHost) {
  const std::vector<TileExtent> extents{extent_of(256, 64), extent_of(256, 63), ragged(16383, 64),
                                        ragged(3000, 64),   extent_of(70, 64),  extent_of(33, 17),
                                        ragged(2049, 60),   extent_of(256, 1),  ragged(777, 5),
                                        extent_of(1, 64),   extent_of(1, 1),    ragged(5, 2)};
  for (const TileExtent extent : extents) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      for (const unsigned seed : {1u, 2u}) {
        check(code(), make_sample(dtype(), extent, kind, seed), turns);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(BlockTile, CodesTheTilesOfTensors) {
  namespace samples = testing_samples;
  for (const samples::Kind kind : samples::all_kinds) {
    for (const Shape& shape : {Shape{300, 200}, Shape{3, 70, 96}, Shape{5000}, Shape{512, 24}}) {
      const auto tensor = samples::sample({dtype(), shape}, kind, 3);
      for (const TileSample& tile : tiles_of(dtype(), shape, tensor, 4)) check(code(), tile, turns);
    }
    if (HasFailure()) return;
  }
}

inline auto each_dtype(const TileCode& code) {
  return testing::Combine(testing::Values(&code), testing::ValuesIn(testing_samples::all_dtypes()));
}
inline std::string dtype_name(const testing::TestParamInfo<BlockTile::ParamType>& tested) {
  return std::string(name_of(std::get<1>(tested.param)));
}

class BlockTiles : public testing::TestWithParam<const TileCode*> {
 protected:
  const TileCode& code() const { return *GetParam(); }
  Turns turns;
};

TEST_P(BlockTiles, CodesRealTensors) {
  for (const char* file : {"kv_docs", "grad_docs", "hidden_docs"}) {
    for (const auto& tensor : testing_samples::real_tensors(file, 2)) {
      for (const auto& tile : tiles_of(tensor.desc.dtype, tensor.desc.shape, tensor.bytes, 8)) {
        check(code(), tile, turns);
      }
    }
  }
}

TEST_P(BlockTiles, CodesRandomExtents) {
  std::mt19937 random(5);
  const auto dtypes = testing_samples::all_dtypes();
  for (unsigned round = 0; round < 400; ++round) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t width = 1 + below(tile_width);
    const std::uint32_t values = 1 + below(tiles::tile_rows * width);
    check(code(),
          make_sample(dtypes[random() % dtypes.size()], ragged(values, width), below(sample_kinds),
                      round),
          turns);
    if (HasFailure()) return;
  }
}

}  // namespace offramp::exact::block
