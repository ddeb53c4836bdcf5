// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/generators/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace offramp {
namespace {

class Generators : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<float> frames(const GeneratorSettings& settings, std::uint64_t count,
                            std::uint64_t at_once) {
    const auto generator = make_generator(GetParam(), device, stream, settings);
    EXPECT_EQ(generator->width(), settings.width);
    EXPECT_EQ(generator->height(), settings.height);
    std::vector<float> out(count * generator->frame_size() / sizeof(float), -1.0f);
    for (std::uint64_t first = 0; first < count; first += at_once) {
      const std::uint64_t some = std::min(at_once, count - first);
      auto* const at = reinterpret_cast<std::byte*>(out.data()) + first * generator->frame_size();
      const FrameView view = generator->next_async(some, at);
      EXPECT_EQ(view.data, at);
      EXPECT_EQ(view.dtype, DType::fp32);
      EXPECT_EQ(view.frames, some);
      EXPECT_EQ(view.channels, 3u);
      EXPECT_EQ(view.row_stride, static_cast<std::int64_t>(settings.width) * 3);
      EXPECT_EQ(view.range, (ValueRange{0, 1}));
    }
    stream.ref().sync();
    return out;
  }

  Device& device = host_device();
  Stream stream = device.make_stream();
};

TEST_P(Generators, FillFramesWithValuesInRange) {
  const auto out = frames({.width = 70, .height = 50}, 3, 2);
  EXPECT_TRUE(std::ranges::all_of(out, [](float v) { return v >= 0 && v <= 1; }));
  const std::size_t one = out.size() / 3;
  EXPECT_FALSE(std::equal(out.begin(), out.begin() + one, out.begin() + one)) << "nothing moves";
  const auto [low, high] = std::minmax_element(out.begin(), out.begin() + one);
  EXPECT_GT(*high - *low, 0.5f);
}

TEST_P(Generators, MakeTheSameBytesWithAnyThreadsAndAnyChunks) {
  const auto expected = frames({.width = 97, .height = 101, .threads = 1}, 5, 1);
  for (const std::size_t threads : {2u, 3u, 7u}) {
    EXPECT_EQ(frames({.width = 97, .height = 101, .threads = threads}, 5, 5), expected) << threads;
  }
}

TEST_P(Generators, WorkForSmallestAndLongestFrames) {
  for (const auto& [width, height] : {std::pair{1u, 1u}, {2u, 3u}, {1u, 300u}, {3000u, 1u}}) {
    const auto out = frames({.width = width, .height = height}, 2, 2);
    EXPECT_TRUE(std::ranges::all_of(out, [](float v) { return v >= 0 && v <= 1; }));
  }
}

TEST_P(Generators, MayGoWhileTheirWorkIsUnderWay) {
  std::vector<std::byte> out(64 * 64 * 3 * sizeof(float));
  const auto make = [&] {
    const auto generator = make_generator(GetParam(), device, stream, {.width = 64, .height = 64});
    for (int again = 0; again < 20; ++again)
      static_cast<void>(generator->next_async(1, out.data()));
  };
  make();
  const auto last = out;
  stream.ref().sync();
  EXPECT_EQ(out, last) << "the destructor did not wait";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const GeneratorRow& row : generator_table()) all.emplace_back(row.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Generators, ::testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

TEST(MakeGenerator, RefusesWhatIsNone) {
  Device& device = host_device();
  const Stream stream = device.make_stream();
  const auto make = [&](std::string_view name, std::uint32_t width, std::uint32_t height) {
    return make_generator(name, device, stream, {.width = width, .height = height});
  };
  EXPECT_THROW(static_cast<void>(make("plasma", 8, 8)), LogicError);
  EXPECT_THROW(static_cast<void>(make("", 8, 8)), LogicError);
  EXPECT_THROW(static_cast<void>(make("heat", 0, 8)), LogicError);
  EXPECT_THROW(static_cast<void>(make("heat", 8, 16385)), LogicError);
}

}  // namespace
}  // namespace offramp
