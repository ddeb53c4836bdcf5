// SPDX-License-Identifier: Apache-2.0
// The vector loops of every instruction set that this processor has against the plain loops: the
// same bytes.
#include "contract/frames/frame_samples.hpp"
#include "contract/guarded_bytes.hpp"
#include "frames/convert_plan.hpp"
#include "frames/device_convert.hpp"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>

namespace offramp {
namespace {

using namespace testing_frames;
using testing_samples::GuardedBytes;

// The library is compiled with other compiler flags than this test may be, so the choice is reset
// by hand.
class EveryTarget {
 public:
  template <class Check>
  static void run(const Check& check) {
    auto left = static_cast<std::uint64_t>(hwy::SupportedTargets());
    int tried = 0;
    for (; left != 0; left &= left - 1) {
      const auto target = static_cast<std::uint32_t>(left & -left);
      SCOPED_TRACE(hwy::TargetName(target));
      use(target);
      check();
      ++tried;
    }
    use(0);
    EXPECT_GE(tried, 1);
  }

 private:
  static void use(std::uint32_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

void check(const FrameView& view, const FrameFormat& format) {
  Bytes expected(format.size() * view.frames);
  frames::convert_plain(frames::make_plan(view, format, expected.data()));
  GuardedBytes out(expected.size());
  frames::convert_now(frames::make_plan(view, format, out.span().data()));
  ASSERT_TRUE(out.intact()) << "written outside";
  const auto differ = std::ranges::mismatch(out.span(), expected);
  ASSERT_EQ(differ.in2, expected.end())
      << "byte " << differ.in2 - expected.begin() << " of " << expected.size();
}

TEST(ConvertKernels, MakeTheBytesOfThePlainLoops) {
  constexpr std::array<Size, 6> sizes{{{1, 1}, {2, 3}, {31, 2}, {67, 3}, {1025, 2}, {2051, 3}}};
  EveryTarget::run([&] {
    std::uint64_t seed = 1;
    for (const PixelFormat pixels : all_pixels) {
      for (const DType dtype : all_sources) {
        for (const Layout layout : all_layouts) {
          const SampleOf what{
              .dtype = dtype,
              .layout = layout,
              .size = sizes[seed % sizes.size()],
              .frames = 1 + seed % 2,
              .channels = seed % 7 == 0 && channels_for(pixels) == 3 ? 4 : channels_for(pixels),
              .range = seed % 3 == 0 ? ValueRange{-0.7, 1.3} : usual_range(dtype),
              .seed = seed};
          ++seed;
          SCOPED_TRACE(describe(what, pixels));
          const Sample sample = make_sample(what);
          FrameFormat format = format_for(sample.view, pixels);
          format.matrix = seed % 2 == 0 ? ColorMatrix::bt709 : ColorMatrix::bt601;
          format.range = seed % 5 < 2 ? ColorRange::full : ColorRange::limited;
          check(sample.view, format);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(ConvertKernels, TakeEveryWidth) {
  EveryTarget::run([&] {
    for (std::uint32_t width = 1; width < 70; ++width) {
      const Sample sample = make_sample({.dtype = DType::fp16,
                                         .layout = width % 2 == 0 ? Layout::nhwc : Layout::nchw,
                                         .size = {width, 2},
                                         .range = {-1, 1},
                                         .seed = width});
      SCOPED_TRACE(width);
      check(sample.view, format_for(sample.view, PixelFormat::rgb24));
      check(sample.view, format_for(sample.view, PixelFormat::yuv420p));
      check(sample.view, format_for(sample.view, PixelFormat::yuv420p10));
    }
  });
}

TEST(ConvertKernels, KnowEveryPatternOfSixteenBits) {
  Bytes patterns(65536 * 2);
  for (std::uint32_t at = 0; at < 65536; ++at) {
    patterns[2 * at] = static_cast<std::byte>(at);
    patterns[2 * at + 1] = static_cast<std::byte>(at >> 8);
  }
  const std::array<std::uint64_t, 2> extents{64, 1024};
  EveryTarget::run([&] {
    for (const DType dtype : {DType::fp16, DType::bf16, DType::u16}) {
      for (const ValueRange range : {ValueRange{-1, 1}, {0, 1e-5}, {-60000, 60000}}) {
        const FrameView view = frame_view(patterns.data(), dtype, extents, "hw", range);
        check(view, format_for(view, PixelFormat::gray16));
      }
    }
  });
}

}  // namespace
}  // namespace offramp
