// SPDX-License-Identifier: Apache-2.0
// Conversion against double precision and against published codes.
#include "contract/frames/frame_samples.hpp"
#include "contract/guarded_bytes.hpp"
#include "unit/frames/frame_reference.hpp"

#include <offramp/frames/convert.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace offramp {
namespace {

using namespace testing_frames;
using testing_samples::BytesBeforeWall;
using testing_samples::GuardedBytes;

// Converts, between guards, and checks against double precision.
void check(const FrameView& view, const FrameFormat& format) {
  GuardedBytes out(format.size() * view.frames);
  convert(view, format, out.span().data());
  ASSERT_TRUE(out.intact()) << "written outside";
  expect_near(out.span(), reference_codes(view, format), format.pixels);
}

ValueRange range_for(DType dtype) {
  if (dtype == DType::u8) return {16, 235};
  return dtype == DType::u16 ? ValueRange{0, 65535} : ValueRange{-1, 1};
}

constexpr std::array<Size, 8> small_sizes{
    {{1, 1}, {2, 3}, {3, 2}, {1, 4}, {7, 1}, {17, 5}, {64, 2}, {1027, 3}}};

TEST(Convert, EveryFormatFromEveryDtypeAndLayout) {
  std::uint64_t seed = 1;
  for (const PixelFormat pixels : all_pixels) {
    for (const DType dtype : all_sources) {
      for (const Layout layout : all_layouts) {
        for (const Size size : small_sizes) {
          const SampleOf what{.dtype = dtype,
                              .layout = layout,
                              .size = size,
                              .frames = size.width < 10 ? 3u : 1u,
                              .channels = channels_for(pixels),
                              .range = range_for(dtype),
                              .seed = seed++};
          SCOPED_TRACE(describe(what, pixels));
          const Sample sample = make_sample(what);
          check(sample.view, format_for(sample.view, pixels));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Convert, GrayBecomesColourAndAlphaIsDropped) {
  for (const PixelFormat pixels : all_pixels) {
    for (const std::uint64_t channels : {1u, 4u}) {
      if (!goes(channels, pixels)) continue;
      for (const Layout layout : {Layout::nhwc, Layout::nchw, Layout::flipped, Layout::sliced}) {
        const SampleOf what{.dtype = DType::bf16,
                            .layout = layout,
                            .size = {19, 3},
                            .frames = 2,
                            .channels = channels,
                            .range = {0, 1},
                            .seed = 4};
        SCOPED_TRACE(describe(what, pixels));
        const Sample sample = make_sample(what);
        check(sample.view, format_for(sample.view, pixels));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Convert, BothMatricesAndRanges) {
  for (const PixelFormat pixels : all_pixels) {
    if (!is_yuv(pixels)) continue;
    const Sample sample = make_sample({.size = {35, 5}, .range = {-1, 1}, .seed = 8});
    FrameFormat format = format_for(sample.view, pixels);
    for (const auto matrix : {ColorMatrix::bt709, ColorMatrix::bt601}) {
      for (const auto range : {ColorRange::limited, ColorRange::full}) {
        format.matrix = matrix;
        format.range = range;
        SCOPED_TRACE(name_of(pixels));
        check(sample.view, format);
      }
    }
  }
}

TEST(Convert, LargeFramesOfOddSize) {
  std::uint64_t seed = 1;
  for (const PixelFormat pixels :
       {PixelFormat::rgb24, PixelFormat::yuv420p, PixelFormat::yuv444p10}) {
    for (const Layout layout : {Layout::nhwc, Layout::cnhw}) {
      const SampleOf what{.dtype = seed % 2 == 0 ? DType::fp32 : DType::bf16,
                          .layout = layout,
                          .size = {853, 481},
                          .range = {-1, 1},
                          .seed = seed++};
      SCOPED_TRACE(describe(what, pixels));
      const Sample sample = make_sample(what);
      check(sample.view, format_for(sample.view, pixels));
    }
  }
}

TEST(Convert, EveryPatternOfSixteenBits) {
  std::vector<std::uint16_t> patterns(65536);
  std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
  const std::array<std::uint64_t, 2> extents{256, 256};
  for (const DType dtype : {DType::fp16, DType::bf16, DType::u16}) {
    for (const PixelFormat pixels : {PixelFormat::gray8, PixelFormat::gray16}) {
      for (const ValueRange range : {ValueRange{-1, 1}, ValueRange{0, 1}, ValueRange{0, 65535}}) {
        SCOPED_TRACE(name_of(dtype));
        const FrameView view = frame_view(reinterpret_cast<const std::byte*>(patterns.data()),
                                          dtype, extents, "hw", range);
        check(view, format_for(view, pixels));
      }
    }
  }
}

TEST(Convert, FullCodesOfTheSameDepthPassUnchanged) {
  std::vector<std::uint16_t> words(65536);
  std::iota(words.begin(), words.end(), std::uint16_t{0});
  std::vector<std::uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto passes = [](const auto& codes, DType dtype, PixelFormat pixels) {
    const std::array<std::uint64_t, 4> extents{1, codes.size() / 4, 1, 4};
    for (const auto* const axes : {"nhwc", "cwhn"}) {
      const bool interleaved = axes[0] == 'n';
      const std::array<std::uint64_t, 4> planar{1, 1, codes.size(), 1};
      const FrameView view = frame_view(reinterpret_cast<const std::byte*>(codes.data()), dtype,
                                        interleaved ? extents : planar, axes);
      const PixelFormat to = interleaved          ? pixels
                             : dtype == DType::u8 ? PixelFormat::gray8
                                                  : PixelFormat::gray16;
      Bytes out(codes.size() * size_of(dtype));
      convert(view, format_for(view, to), out.data());
      EXPECT_EQ(std::memcmp(out.data(), codes.data(), out.size()), 0) << axes;
    }
  };
  passes(bytes, DType::u8, PixelFormat::rgba32);
  passes(words, DType::u16, PixelFormat::rgba64);
  // Planes do so by way of floats.
  const std::array<std::uint64_t, 3> extents{4, 64, 256};
  const FrameView view =
      frame_view(reinterpret_cast<const std::byte*>(words.data()), DType::u16, extents, "chw");
  Bytes out(words.size() * 2);
  convert(view, format_for(view, PixelFormat::rgba64), out.data());
  const auto codes = codes_of(out, PixelFormat::rgba64);
  for (std::uint32_t at = 0; at < codes.size(); ++at) {
    ASSERT_EQ(codes[at], at % 4 * 16384 + at / 4);
  }
}

struct Corner {
  std::array<double, 3> rgb;
  std::array<std::uint32_t, 3> yuv;
};

// The codes of full colours that the recommendations and their test patterns have.
void check_corners(const std::array<Corner, 8>& corners, PixelFormat pixels, ColorMatrix matrix,
                   ColorRange range) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::u8, DType::u16}) {
    for (const Corner& corner : corners) {
      const ValueRange values = usual_range(dtype);
      std::vector<double> numbers;
      for (int pixel = 0; pixel < 4; ++pixel) {
        for (const double colour : corner.rgb) numbers.push_back(colour * values.high);
      }
      const Bytes bytes = values_of(dtype, numbers);
      const std::array<std::uint64_t, 3> extents{2, 2, 3};
      const FrameView view = frame_view(bytes.data(), dtype, extents, "hwc");
      FrameFormat format = format_for(view, pixels);
      format.matrix = matrix;
      format.range = range;
      Bytes out(format.size());
      convert(view, format, out.data());
      const auto codes = codes_of(out, pixels);
      const std::size_t chroma = is_subsampled(pixels) ? 1 : 4;
      EXPECT_EQ(codes[0], corner.yuv[0]);
      EXPECT_EQ(codes[3], corner.yuv[0]);
      EXPECT_EQ(codes[4], corner.yuv[1]);
      EXPECT_EQ(codes[4 + chroma], corner.yuv[2]);
    }
  }
}

TEST(Convert, CornersOfTheColourCubeHaveThePublishedCodes) {
  const std::array<Corner, 8> bt709{{{{1, 1, 1}, {235, 128, 128}},
                                     {{1, 1, 0}, {219, 16, 138}},
                                     {{0, 1, 1}, {188, 154, 16}},
                                     {{0, 1, 0}, {173, 42, 26}},
                                     {{1, 0, 1}, {78, 214, 230}},
                                     {{1, 0, 0}, {63, 102, 240}},
                                     {{0, 0, 1}, {32, 240, 118}},
                                     {{0, 0, 0}, {16, 128, 128}}}};
  const std::array<Corner, 8> bt601{{{{1, 1, 1}, {235, 128, 128}},
                                     {{1, 1, 0}, {210, 16, 146}},
                                     {{0, 1, 1}, {170, 166, 16}},
                                     {{0, 1, 0}, {145, 54, 34}},
                                     {{1, 0, 1}, {106, 202, 222}},
                                     {{1, 0, 0}, {81, 90, 240}},
                                     {{0, 0, 1}, {41, 240, 110}},
                                     {{0, 0, 0}, {16, 128, 128}}}};
  const std::array<Corner, 8> bt709_10{{{{1, 1, 1}, {940, 512, 512}},
                                        {{1, 1, 0}, {877, 64, 553}},
                                        {{0, 1, 1}, {754, 615, 64}},
                                        {{0, 1, 0}, {691, 167, 105}},
                                        {{1, 0, 1}, {313, 857, 919}},
                                        {{1, 0, 0}, {250, 409, 960}},
                                        {{0, 0, 1}, {127, 960, 471}},
                                        {{0, 0, 0}, {64, 512, 512}}}};
  // JFIF: 127.5 codes above and below 128 are 255.5, which is clamped, and 0.5, which is even 0.
  const std::array<Corner, 8> jfif{{{{1, 1, 1}, {255, 128, 128}},
                                    {{1, 1, 0}, {226, 0, 149}},
                                    {{0, 1, 1}, {179, 171, 0}},
                                    {{0, 1, 0}, {150, 44, 21}},
                                    {{1, 0, 1}, {105, 212, 235}},
                                    {{1, 0, 0}, {76, 85, 255}},
                                    {{0, 0, 1}, {29, 255, 107}},
                                    {{0, 0, 0}, {0, 128, 128}}}};
  for (const PixelFormat pixels : {PixelFormat::yuv420p, PixelFormat::yuv444p}) {
    check_corners(bt709, pixels, ColorMatrix::bt709, ColorRange::limited);
    check_corners(bt601, pixels, ColorMatrix::bt601, ColorRange::limited);
    check_corners(jfif, pixels, ColorMatrix::bt601, ColorRange::full);
  }
  for (const PixelFormat pixels : {PixelFormat::yuv420p10, PixelFormat::yuv444p10}) {
    check_corners(bt709_10, pixels, ColorMatrix::bt709, ColorRange::limited);
  }
}

TEST(Convert, ChromaIsSitedAtTheLeftColumn) {
  // Red in one column of four: the pair left of it has a quarter, its own pair a half.
  std::vector<double> numbers;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 6; ++column) {
      numbers.insert(numbers.end(), {column == 2 ? 1.0 : 0.0, 0.0, 0.0});
    }
  }
  const Bytes bytes = values_of(DType::fp32, numbers);
  const std::array<std::uint64_t, 3> extents{2, 6, 3};
  const FrameView view = frame_view(bytes.data(), DType::fp32, extents, "hwc");
  const FrameFormat format = format_for(view, PixelFormat::yuv420p);
  Bytes out(format.size());
  convert(view, format, out.data());
  const auto codes = codes_of(out, format.pixels);
  const std::vector<std::uint32_t> v(codes.begin() + 15, codes.end());
  EXPECT_EQ(v, (std::vector<std::uint32_t>{128, 184, 128}));  // columns 0, 2 and 4
}

TEST(Convert, ClampsInsteadOfWrappingRound) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{
      -1.0001, -2, -inf, -1e30, 1.0001, 1.5, inf, 1e30, std::numeric_limits<double>::quiet_NaN()};
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const Bytes bytes = values_of(dtype, numbers);
    const std::array<std::uint64_t, 2> extents{1, numbers.size()};
    const FrameView view = frame_view(bytes.data(), dtype, extents, "hw", {-1, 1});
    for (const PixelFormat pixels : {PixelFormat::gray8, PixelFormat::gray16}) {
      const FrameFormat format = format_for(view, pixels);
      Bytes out(format.size());
      convert(view, format, out.data());
      const std::uint32_t top = pixels == PixelFormat::gray8 ? 255 : 65535;
      EXPECT_EQ(codes_of(out, pixels),
                (std::vector<std::uint32_t>{0, 0, 0, 0, top, top, top, top, 0}));
    }
  }
}

// 0 of [-1, 1] is half of everything. (A code of 0.5, which becomes 0, is among the corners.)
TEST(Convert, RoundsMidwayToEven) {
  const Bytes bytes = values_of(DType::fp32, {0.0, -0.0, 0.0, -0.0});
  const std::array<std::uint64_t, 2> extents{2, 2};
  const FrameView view = frame_view(bytes.data(), DType::fp32, extents, "hw", {-1, 1});
  const auto first_codes = [&](PixelFormat pixels, ColorRange range) {
    FrameFormat format = format_for(view, pixels);
    format.range = range;
    Bytes out(format.size());
    convert(view, format, out.data());
    const auto codes = codes_of(out, pixels);
    return std::vector<std::uint32_t>(codes.begin(), codes.begin() + 4);
  };
  const auto four = [](std::uint32_t code) { return std::vector<std::uint32_t>(4, code); };
  EXPECT_EQ(first_codes(PixelFormat::gray8, ColorRange::full), four(128));
  EXPECT_EQ(first_codes(PixelFormat::gray16, ColorRange::full), four(32768));
  EXPECT_EQ(first_codes(PixelFormat::yuv420p, ColorRange::limited), four(126));
  EXPECT_EQ(first_codes(PixelFormat::yuv420p10, ColorRange::full), four(512));
}

TEST(Convert, ReadsNothingBehindTheMemoryAndAnyAddress) {
  for (const PixelFormat pixels : all_pixels) {
    for (const DType dtype : all_sources) {
      for (const Layout layout : {Layout::nhwc, Layout::nchw, Layout::sliced}) {
        const SampleOf what{.dtype = dtype,
                            .layout = layout,
                            .size = {21, 3},
                            .channels = channels_for(pixels),
                            .range = range_for(dtype),
                            .seed = 3};
        SCOPED_TRACE(describe(what, pixels));
        const Sample sample = make_sample(what);
        const FrameFormat format = format_for(sample.view, pixels);
        Bytes expected(format.size());
        convert(sample.view, format, expected.data());
        const BytesBeforeWall walled(sample.bytes);
        Bytes skewed(sample.bytes.size() + 1);
        std::copy(sample.bytes.begin(), sample.bytes.end(), skewed.begin() + 1);
        for (const std::byte* const memory :
             {walled.span().data(), std::as_const(skewed).data() + 1}) {
          GuardedBytes out(format.size(), std::byte{0xcd}, 1);
          convert(sample.at(memory), format, out.span().data());
          ASSERT_TRUE(out.intact());
          ASSERT_TRUE(std::ranges::equal(out.span(), expected));
        }
      }
    }
  }
}

}  // namespace
}  // namespace offramp
