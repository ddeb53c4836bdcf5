// SPDX-License-Identifier: Apache-2.0
// The loops of every instruction set must make the bytes of the reference.
#include "codec/exact_dense/class_models.hpp"
#include "dense_fixture.hpp"

namespace offramp::exact_dense {
namespace {

struct Case {
  const char* name;
  DType dtype;
  TileExtent extent;
  Bytes values;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  std::uint32_t seed = 1;
  for (const DType dtype : float_dtypes) {
    for (const TileExtent extent :
         {full, extent_of(256, 64, 13), extent_of(100, 64), extent_of(37, 33, 5), extent_of(256, 1),
          extent_of(16, 64), extent_of(9, 7, 6), extent_of(1, 64), extent_of(1, 1)}) {
      all.push_back({"normal", dtype, extent, normal_channels(dtype, extent, seed++)});
      all.push_back({"wide", dtype, extent, normal_channels(dtype, extent, seed++, 30)});
      all.push_back(
          {"random", dtype, extent, random_bytes(extent.values * size_of(dtype), seed++)});
      Engine random(seed++);
      std::normal_distribution<double> normal;
      all.push_back({"one in 20 is zero, one in 100 huge", dtype, extent,
                     make_values(dtype, extent, [&](std::uint32_t, std::uint32_t) {
                       const double x = normal(random);
                       return random() % 20 == 0 ? 0.0 : random() % 100 == 0 ? 1e4 * x : x;
                     })});
      all.push_back({"signs hold", dtype, extent,
                     make_values(dtype, extent, [&](std::uint32_t r, std::uint32_t c) {
                       return (0.5 + (random() % 1000) / 500.0) * ((r / 40 + c) % 2 == 0 ? 1 : -1);
                     })});
    }
  }
  return all;
}

TEST(DenseKernels, EveryTargetMakesTheReferencesBytes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name + std::string(" ") + std::string(name_of(c.dtype)) + " " +
                 std::to_string(c.extent.rows) + "x" + std::to_string(c.extent.width));
    const Coded expected = round_trip(reference_kernels(), c.dtype, c.extent, c.values);
    for_each_target([&](const Kernels& kernels) {
      const Coded coded = encode(kernels, c.dtype, c.extent, c.values);
      EXPECT_TRUE(coded == expected);
      const auto back = decode(kernels, c.dtype, c.extent, expected);
      EXPECT_TRUE(back && *back == c.values);
      if (c.extent.width != tiles::tile_width) return;
      check_lines(kernels, c.dtype, c.extent, c.values, expected, tiles::next_line_gap());
    });
  }
}

// The tile coder takes what compresses badly away from the stream; the stream must hold anyway.
TEST(DenseKernels, StreamsHoldAnyWordsUnderEveryTarget) {
  for (const TileExtent extent : {full, extent_of(50, 64), extent_of(33, 21, 4)}) {
    alignas(64) static std::uint16_t words[tiles::tile_values];
    Engine random(extent.rows);
    std::fill(std::begin(words), std::end(words), std::uint16_t{0});
    for (std::uint32_t i = 0; i < extent.values; ++i) {
      words[i / extent.width * pitch + i % extent.width] =
          static_cast<std::uint16_t>(random() & 0xffc0);
    }
    TilePlan plan;
    plan.form = classes_form;
    for (std::uint32_t c = 0; c < extent.width; ++c) {
      plan.top[c] = static_cast<std::uint8_t>(random());
      plan.class_of[c] = static_cast<std::uint8_t>(random() % class_count);
      plan.change[c] = random() % 2;
    }
    const auto run = [&](const Kernels& kernels, StreamEnds& ends,
                         std::vector<std::uint32_t>& out) {
      for (std::uint32_t l = 0; l < max_lanes; ++l) {
        ends.first_state[l] = 1024 + 7 * l;
        ends.first_buffer[l] = 0x9e3779b9U * l;
      }
      out.resize(max_stream_words);
      out.resize(kernels.encode(words, extent, plan, ends, out.data()));
    };
    StreamEnds expected_ends;
    std::vector<std::uint32_t> expected;
    run(reference_kernels(), expected_ends, expected);
    for_each_target([&](const Kernels& kernels) {
      StreamEnds ends;
      std::vector<std::uint32_t> stream;
      run(kernels, ends, stream);
      EXPECT_EQ(stream, expected);
      for (std::uint32_t l = 0; l < lanes_of(extent); ++l) {
        EXPECT_EQ(ends.head[l], expected_ends.head[l]);
        EXPECT_EQ(ends.head_bits[l], expected_ends.head_bits[l]);
        EXPECT_EQ(ends.buffer[l], expected_ends.buffer[l]);
      }
      alignas(64) static std::uint16_t back[tiles::tile_values];
      stream.resize(stream.size() + 16);
      ASSERT_TRUE(kernels.decode(stream.data(), expected.size(), extent, plan, ends, back));
      EXPECT_TRUE(std::equal(back, back + extent.rows * pitch, words));
      EXPECT_EQ(ends.first_state[0], 1024U);
      EXPECT_EQ(ends.first_buffer[1], 0x9e3779b9U);
    });
  }
}

}  // namespace
}  // namespace offramp::exact_dense
