// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/tiling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace offramp::tiles {
namespace {

struct ViewCase {
  Shape shape;
  ChannelView view;
};

TEST(ChannelView, IsThatOfTheSpec) {
  const std::vector<ViewCase> cases{
      // Rule 1: the first split with enough rows and values.
      {{3, 1024, 64}, {3, 65536, 64}},
      {{1024, 576}, {1, 589824, 576}},
      {{1, 3, 1, 1024, 64, 1}, {3, 65536, 64}},
      {{30, 2, 3, 1024, 64}, {180, 65536, 64}},
      {{1024, 3, 64}, {1, 196608, 192}},
      {{64, 64}, {1, 4096, 64}},
      {{512, 512, 3, 3}, {512, 4608, 63}},
      {{5, 4096, 1000}, {5, 4096000, 1000}},
      // Rule 2: no such split.
      {{16, 128}, {1, 2048, 128}},
      {{2, 16, 576}, {1, 18432, 576}},
      {{63, 65}, {1, 4095, 65}},
      {{64, 63}, {1, 4032, 63}},
      {{64, 40}, {1, 2560, 40}},
      {{8, 1000}, {1, 8000, 1000}},
      // Rule 3: flat.
      {{}, {1, 1, 64}},
      {{1, 1}, {1, 1, 64}},
      {{1000}, {1, 1000, 64}},
      {{7, 3}, {1, 21, 64}},
      {{7, 5000}, {1, 35000, 64}},
      {{2, 3, 4096}, {1, 24576, 64}},
      // Rule 4: folded rows.
      {{100, 3}, {1, 300, 63}},
      {{4096, 1}, {1, 4096, 64}},
      {{5000, 32}, {1, 160000, 64}},
      {{5000, 33}, {1, 165000, 33}},
      // Nothing to view.
      {{0}, {0, 0, 0}},
      {{3, 0, 64}, {0, 0, 0}},
  };
  for (const ViewCase& expected : cases) {
    const ChannelView view = channel_view(expected.shape);
    EXPECT_EQ(view.groups, expected.view.groups) << expected.shape.to_string();
    EXPECT_EQ(view.group_values, expected.view.group_values) << expected.shape.to_string();
    EXPECT_EQ(view.width, expected.view.width) << expected.shape.to_string();
  }
}

TEST(Tiling, AKvTensorHasFourTilesAHead) {
  const Tiling tiling({3, 1024, 64});
  EXPECT_EQ(tiling.tiles(), 12u);
  const Tile tile = tiling.tile(5);
  EXPECT_EQ(tile.first_elem, 65536u + 16384u);
  EXPECT_TRUE(tile.is_contiguous());
  EXPECT_TRUE(tile.extent.is_full());
}

std::vector<Shape> random_shapes() {
  std::mt19937_64 random(3);
  std::vector<Shape> shapes{{}, {0}, {65}, {512, 6, 3, 3}, {300, 100}, {1300, 5}, {2, 300, 130}};
  for (int i = 0; i < 200; ++i) {
    std::vector<std::uint64_t> extents(1 + random() % 4);
    std::uint64_t left = 100000;
    for (auto& extent : extents) {
      extent = 1 + random() % std::min<std::uint64_t>(left, std::uint64_t{1} << random() % 12);
      left /= extent;
    }
    shapes.emplace_back(extents);
  }
  return shapes;
}

TEST(Tiling, EveryElementIsInOneTile) {
  for (const Shape& shape : random_shapes()) {
    SCOPED_TRACE(shape.to_string());
    const Tiling tiling(shape);
    std::vector<int> covered(shape.elems());
    for (std::uint64_t number = 0; number < tiling.tiles(); ++number) {
      const Tile tile = tiling.tile(number);
      ASSERT_LE(tile.extent.rows, tile_rows);
      ASSERT_LE(tile.extent.width, tile_width);
      ASSERT_GT(tile.extent.values, (tile.extent.rows - 1) * tile.extent.width);
      ASSERT_LE(tile.extent.values, tile.extent.rows * tile.extent.width);
      for (std::uint32_t value = 0; value < tile.extent.values; ++value) {
        const std::uint64_t row = value / tile.extent.width;
        const std::uint64_t elem = tile.first_elem + row * tile.pitch + value % tile.extent.width;
        ASSERT_LT(elem, covered.size());
        ++covered[elem];
      }
    }
    EXPECT_TRUE(std::ranges::all_of(covered, [](int count) { return count == 1; }));
  }
}

TEST(Tiling, RangesNameTheTilesOfTheirBands) {
  std::mt19937_64 random(4);
  for (const Shape& shape : random_shapes()) {
    SCOPED_TRACE(shape.to_string());
    const Tiling tiling(shape);
    const std::uint64_t elems = shape.elems();
    for (int round = 0; round < 10 && elems > 0; ++round) {
      const std::uint64_t first = random() % elems;
      const std::uint64_t last = first + 1 + random() % (elems - first);
      const auto range = tiling.tiles_of(first, last);
      ASSERT_LE(range.end, tiling.tiles());
      for (std::uint64_t number = 0; number < tiling.tiles(); ++number) {
        const Tile tile = tiling.tile(number);
        bool wanted = false;
        for (std::uint32_t row = 0; row < tile.extent.rows; ++row) {
          const std::uint64_t begin = tile.first_elem + row * tile.pitch;
          wanted = wanted || (begin < last && begin + tile.extent.width > first);
        }
        if (wanted) {
          EXPECT_TRUE(number >= range.begin && number < range.end) << number;
        }
      }
    }
    EXPECT_EQ(tiling.tiles_of(0, elems).end, tiling.tiles());
    EXPECT_EQ(tiling.tiles_of(0, 0).end, 0u);
  }
}

TEST(BodyPlaces, AreTheRunningSumsOfTheSizes) {
  const auto size = [](TileExtent extent) {
    return std::uint64_t{extent.values} * 3 + extent.rows;
  };
  for (const Shape& shape : random_shapes()) {
    SCOPED_TRACE(shape.to_string());
    const Tiling tiling(shape);
    const BodyPlaces places(tiling, size);
    std::uint64_t expected = 0;
    for (std::uint64_t number = 0; number < tiling.tiles(); ++number) {
      ASSERT_EQ(places.begin(number), expected);
      expected += size(tiling.tile(number).extent);
    }
    EXPECT_EQ(places.begin(tiling.tiles()), expected);
  }
}

}  // namespace
}  // namespace offramp::tiles
