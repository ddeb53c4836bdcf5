// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace offramp {
namespace {

TEST(PixelFormat, IsFoundByItsName) {
  for (std::size_t at = 0; at < pixel_format_count; ++at) {
    const auto format = static_cast<PixelFormat>(at);
    EXPECT_EQ(pixel_format_from_name(name_of(format)), format) << name_of(format);
  }
  EXPECT_EQ(name_of(PixelFormat::yuv420p10), "yuv420p10");
  EXPECT_EQ(pixel_format_from_name("yuv422p"), std::nullopt);
  EXPECT_EQ(pixel_format_from_name(""), std::nullopt);
}

std::size_t size_of_frame(PixelFormat pixels, std::uint32_t width, std::uint32_t height) {
  FrameFormat format;
  format.pixels = pixels;
  format.width = width;
  format.height = height;
  return format.size();
}

TEST(PixelFormat, FramesHaveTheSizeOfTheirPlanes) {
  EXPECT_EQ(size_of_frame(PixelFormat::gray8, 5, 3), 15u);
  EXPECT_EQ(size_of_frame(PixelFormat::gray16, 5, 3), 30u);
  EXPECT_EQ(size_of_frame(PixelFormat::rgb24, 5, 3), 45u);
  EXPECT_EQ(size_of_frame(PixelFormat::rgba32, 5, 3), 60u);
  EXPECT_EQ(size_of_frame(PixelFormat::rgb48, 5, 3), 90u);
  EXPECT_EQ(size_of_frame(PixelFormat::rgba64, 5, 3), 120u);
  EXPECT_EQ(size_of_frame(PixelFormat::yuv444p, 5, 3), 45u);
  EXPECT_EQ(size_of_frame(PixelFormat::yuv444p10, 5, 3), 90u);
  EXPECT_EQ(size_of_frame(PixelFormat::yuv420p, 5, 3), 15u + 2 * 6);
  EXPECT_EQ(size_of_frame(PixelFormat::yuv420p10, 5, 3), 2 * (15u + 2 * 6));
  EXPECT_EQ(size_of_frame(PixelFormat::yuv420p, 1, 1), 3u);
  EXPECT_EQ(size_of_frame(PixelFormat::yuv420p, 4, 2), 12u);
}

TEST(PixelFormat, RefusesFramesThatCannotBeCounted) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(size_of_frame(PixelFormat::gray8, most, most), std::size_t{most} * most);
  EXPECT_THROW((void)size_of_frame(PixelFormat::gray16, most, most), LogicError);
  EXPECT_THROW((void)size_of_frame(PixelFormat::rgb24, most, most), LogicError);
  EXPECT_THROW((void)size_of_frame(PixelFormat::rgba64, most, most), LogicError);
  EXPECT_THROW((void)size_of_frame(PixelFormat::yuv420p, most, most), LogicError);
  EXPECT_THROW((void)size_of_frame(PixelFormat::yuv444p10, most, most), LogicError);
}

}  // namespace
}  // namespace offramp
