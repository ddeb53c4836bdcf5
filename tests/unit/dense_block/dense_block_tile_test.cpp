// SPDX-License-Identifier: Apache-2.0
// A block of threads gives the host's bytes and takes them back, whatever the dtype, the extent,
// the pitch, the address and the number of threads.
#include "contract/tensor_samples.hpp"
#include "dense_block_fixture.hpp"

#include <gmock/gmock.h>

#include <array>
#include <random>

namespace offramp::exact_dense::block {
namespace {

using exact::block::extent_of;
using exact::block::make_sample;
using exact::block::ragged;
using exact::block::sample_kinds;
using exact::block::tiles_of;

// The blocks and places that successive samples are tried with.
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

// Returns the coded tile.
Coded check(const TileSample& sample, Turns& turns) {
  const Coded host = dense_encode_on_host(sample);
  CpuBlock block = turns.block();
  const Coded coded = dense_encode_by_block(block, sample, turns.place());
  EXPECT_EQ(int{coded.mode}, int{host.mode}) << sample.name();
  EXPECT_EQ(coded.body.size(), host.body.size()) << sample.name();
  EXPECT_EQ(coded.heap.size(), host.heap.size()) << sample.name();
  EXPECT_TRUE(coded == host) << sample.name() << " mode " << int{host.mode};
  ByteVector back;
  EXPECT_TRUE(dense_decode_by_block(block, sample.dtype, sample.extent, host, turns.place(), back))
      << sample.name() << " mode " << int{host.mode};
  EXPECT_TRUE(back == sample.values) << sample.name() << " mode " << int{host.mode};
  return coded;
}

class DenseBlockTile : public testing::TestWithParam<DType> {};

TEST_P(DenseBlockTile, GivesTheBytesOfTheHost) {
  Turns turns;
  const std::vector<TileExtent> extents{extent_of(256, 64), extent_of(256, 63), ragged(16383, 64),
                                        ragged(3000, 64),   extent_of(70, 64),  extent_of(33, 17),
                                        ragged(2049, 60),   extent_of(256, 1),  ragged(777, 5),
                                        extent_of(1, 64),   extent_of(1, 1),    ragged(5, 2)};
  for (const TileExtent extent : extents) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      for (const unsigned seed : {1u, 2u}) {
        check(make_sample(GetParam(), extent, kind, seed), turns);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(DenseBlockTile, CodesTheTilesOfTensors) {
  namespace samples = testing_samples;
  Turns turns;
  for (const samples::Kind kind : samples::all_kinds) {
    for (const Shape& shape : {Shape{300, 200}, Shape{3, 70, 96}, Shape{5000}, Shape{512, 24}}) {
      const auto tensor = samples::sample({GetParam(), shape}, kind, 3);
      for (const TileSample& tile : tiles_of(GetParam(), shape, tensor, 4)) check(tile, turns);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, DenseBlockTile, testing::ValuesIn(testing_samples::all_dtypes()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(DenseBlockTiles, CodesRealTensors) {
  Turns turns;
  for (const char* file : {"kv_docs", "grad_docs", "hidden_docs"}) {
    for (const auto& tensor : testing_samples::real_tensors(file, 2)) {
      for (const auto& tile : tiles_of(tensor.desc.dtype, tensor.desc.shape, tensor.bytes, 8)) {
        check(tile, turns);
      }
    }
  }
}

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
        modes.push_back(check(sample, turns).mode);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_THAT(modes, testing::Contains(int{trimmed_mode}));
}

TEST(DenseBlockTiles, CodesRandomExtents) {
  Turns turns;
  std::mt19937 random(5);
  const auto dtypes = testing_samples::all_dtypes();
  for (unsigned round = 0; round < 300; ++round) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t width = 1 + below(pitch);
    const std::uint32_t values = 1 + below(tiles::tile_rows * width);
    check(make_sample(dtypes[random() % dtypes.size()], ragged(values, width), below(sample_kinds),
                      round),
          turns);
    if (HasFailure()) return;
  }
}

TEST(DenseBlockTiles, TheSamplesHaveAllFormsOfATile) {
  Turns turns;
  std::vector<int> modes, forms;
  for (const DType dtype : {DType::bf16, DType::fp32, DType::i16}) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      for (const unsigned seed : {1u, 2u}) {
        const Coded coded = check(make_sample(dtype, extent_of(256, 64), kind, seed), turns);
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
