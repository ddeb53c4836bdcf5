// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/frames/convert.hpp>
#include <offramp/frames/frame_view.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

namespace offramp {
namespace {

using Extents = std::vector<std::uint64_t>;

FrameView view_of(const Extents& extents, std::string_view axes, DType dtype = DType::fp32) {
  static const std::array<std::byte, 16> bytes{};
  return frame_view(bytes.data(), dtype, extents, axes);
}

TEST(FrameView, FollowsTheNamesOfTheAxes) {
  const FrameView nhwc = view_of({2, 3, 5, 4}, "nhwc");
  EXPECT_EQ(nhwc.frames, 2u);
  EXPECT_EQ(nhwc.height, 3u);
  EXPECT_EQ(nhwc.width, 5u);
  EXPECT_EQ(nhwc.channels, 4u);
  EXPECT_EQ(nhwc.frame_stride, 60);
  EXPECT_EQ(nhwc.row_stride, 20);
  EXPECT_EQ(nhwc.column_stride, 4);
  EXPECT_EQ(nhwc.channel_stride, 1);

  const FrameView cnhw = view_of({3, 2, 7, 5}, "cnhw");
  EXPECT_EQ(cnhw.frame_stride, 35);
  EXPECT_EQ(cnhw.row_stride, 5);
  EXPECT_EQ(cnhw.column_stride, 1);
  EXPECT_EQ(cnhw.channel_stride, 70);

  const FrameView hw = view_of({7, 5}, "hw");
  EXPECT_EQ(hw.frames, 1u);
  EXPECT_EQ(hw.channels, 1u);
  EXPECT_EQ(hw.row_stride, 5);
}

TEST(FrameView, TakesTheDtypesUsualRange) {
  EXPECT_EQ(view_of({1, 1}, "hw", DType::fp32).range, (ValueRange{0, 1}));
  EXPECT_EQ(view_of({1, 1}, "hw", DType::bf16).range, (ValueRange{0, 1}));
  EXPECT_EQ(view_of({1, 1}, "hw", DType::u8).range, (ValueRange{0, 255}));
  EXPECT_EQ(view_of({1, 1}, "hw", DType::u16).range, (ValueRange{0, 65535}));
}

TEST(FrameView, RefusesAxesThatSayNothing) {
  EXPECT_THROW((void)view_of({2, 3, 5}, "nhwc"), LogicError);
  EXPECT_THROW((void)view_of({2, 3}, "hc"), LogicError);
  EXPECT_THROW((void)view_of({2, 3}, "nw"), LogicError);
  EXPECT_THROW((void)view_of({2, 3, 4}, "hwh"), LogicError);
  EXPECT_THROW((void)view_of({2, 3, 4}, "hwx"), LogicError);
  EXPECT_THROW((void)view_of({}, ""), LogicError);
}

TEST(FrameView, RefusesExtentsThatCannotBeCounted) {
  constexpr std::uint64_t large = std::uint64_t{1} << 31;
  EXPECT_NO_THROW((void)view_of({large, large}, "hw", DType::u8));
  EXPECT_THROW((void)view_of({large, large, 2}, "hwc", DType::u8), LogicError);
  EXPECT_THROW((void)view_of({large, large}, "hw", DType::u16), LogicError);
  EXPECT_THROW((void)view_of({std::numeric_limits<std::uint64_t>::max(), 1}, "hw"), LogicError);
}

TEST(FrameView, SlicesByItsFrameStride) {
  std::array<float, 24> values{};
  const Extents extents{4, 2, 3};
  FrameView view =
      frame_view(reinterpret_cast<const std::byte*>(values.data()), DType::fp32, extents, "nhw");
  EXPECT_EQ(view.slice(3, 1).data, reinterpret_cast<const std::byte*>(&values[18]));
  EXPECT_EQ(view.slice(1, 2).frames, 2u);
  view.data = reinterpret_cast<const std::byte*>(&values[18]);
  view.frame_stride = -6;
  EXPECT_EQ(view.slice(2, 1).data, reinterpret_cast<const std::byte*>(&values[6]));
}

FrameFormat format_of(PixelFormat pixels, std::uint32_t width, std::uint32_t height) {
  FrameFormat format;
  format.pixels = pixels;
  format.width = width;
  format.height = height;
  return format;
}

TEST(ExpectConvertible, TakesWhatFits) {
  const auto takes = [](std::uint64_t channels, PixelFormat pixels) {
    expect_convertible(view_of({2, 3, channels}, "hwc"), format_of(pixels, 3, 2));
  };
  EXPECT_NO_THROW(takes(1, PixelFormat::gray8));
  EXPECT_NO_THROW(takes(1, PixelFormat::rgb24));
  EXPECT_NO_THROW(takes(1, PixelFormat::yuv420p));
  EXPECT_NO_THROW(takes(3, PixelFormat::rgb48));
  EXPECT_NO_THROW(takes(4, PixelFormat::rgb24));
  EXPECT_NO_THROW(takes(4, PixelFormat::yuv444p10));
  EXPECT_NO_THROW(takes(4, PixelFormat::rgba64));
  EXPECT_THROW(takes(2, PixelFormat::rgb24), LogicError);
  EXPECT_THROW(takes(5, PixelFormat::rgb24), LogicError);
  EXPECT_THROW(takes(0, PixelFormat::rgb24), LogicError);
  EXPECT_THROW(takes(3, PixelFormat::rgba32), LogicError);
  EXPECT_THROW(takes(1, PixelFormat::rgba32), LogicError);
  EXPECT_THROW(takes(3, PixelFormat::gray8), LogicError);
}

TEST(ExpectConvertible, RefusesOtherSizesAndDtypes) {
  const FrameView view = view_of({2, 3, 3}, "hwc");
  EXPECT_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 2, 3)), LogicError);
  EXPECT_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 3, 3)), LogicError);
  EXPECT_THROW(expect_convertible(view_of({0, 3, 3}, "hwc"), format_of(PixelFormat::rgb24, 3, 0)),
               LogicError);
  for (const DType dtype : {DType::fp64, DType::i8, DType::i32, DType::boolean, DType::fp8_e4m3}) {
    FrameView other = view;
    other.dtype = dtype;
    EXPECT_THROW(expect_convertible(other, format_of(PixelFormat::rgb24, 3, 2)), LogicError);
  }
}

TEST(ExpectConvertible, RefusesRangesThatAreNone) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ValueRange range : {ValueRange{1, 1},
                                 {1, 0},
                                 {0, inf},
                                 {-inf, 0},
                                 {nan, 1},
                                 {0, nan},
                                 {-3e38, 3e38},
                                 {0, 1e300},
                                 {0, 1e-42},
                                 {16777216, 16777216.5}}) {
    FrameView view = view_of({2, 3, 3}, "hwc");
    view.range = range;
    EXPECT_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 3, 2)), LogicError)
        << range.low << " to " << range.high;
  }
}

TEST(ExpectConvertible, RefusesStridesBeyondAllMemory) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t stride : {most, most / 2, std::numeric_limits<std::int64_t>::min()}) {
    FrameView view = view_of({2, 3, 3}, "hwc");
    view.row_stride = stride;
    EXPECT_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 3, 2)), LogicError);
    view = view_of({2, 3, 3}, "hwc");
    view.frame_stride = stride;  // of one frame: never stepped
    EXPECT_NO_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 3, 2)));
  }
  FrameView view = view_of({2, 3, 3}, "hwc");
  view.frames = std::uint64_t{1} << 63;
  view.frame_stride = 0;
  EXPECT_THROW(expect_convertible(view, format_of(PixelFormat::rgb24, 3, 2)), LogicError);
}

}  // namespace
}  // namespace offramp
