// SPDX-License-Identifier: Apache-2.0
// What a thread of a GPU does, done by the host for every thread: the plain loops' bytes, and
// nothing read or written outside.
#include "frames/convert_patch.hpp"

#include "contract/frames/frame_samples.hpp"
#include "contract/guarded_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace offramp {
namespace {

using namespace testing_frames;
using testing_samples::BytesBeforeWall;
using testing_samples::GuardedBytes;

template <class Source, class Code>
void convert_patches(const frames::ConvertPlan& plan) {
  const frames::PatchLay lay = frames::patch_lay(plan);
  for (std::uint64_t frame = 0; frame < plan.frames; ++frame) {
    for (std::uint32_t y = 0; y * frames::patch_height < plan.height; ++y) {
      for (std::uint32_t x = 0; x * frames::patch_width < plan.width; ++x) {
        frames::Patch<Source, Code>(plan, lay, frame, x, y).convert();
      }
    }
  }
}

template <class Source>
void convert_from(const frames::ConvertPlan& plan) {
  if (bits_of(plan.pixels) == 8) return convert_patches<Source, std::uint8_t>(plan);
  convert_patches<Source, std::uint16_t>(plan);
}

void convert_all(const frames::ConvertPlan& plan) {
  switch (plan.dtype) {
    case DType::fp32:
      return convert_from<frames::PatchFp32>(plan);
    case DType::fp16:
      return convert_from<frames::PatchFp16>(plan);
    case DType::bf16:
      return convert_from<frames::PatchBf16>(plan);
    case DType::u16:
      return convert_from<frames::PatchInteger<std::uint16_t>>(plan);
    default:
      return convert_from<frames::PatchInteger<std::uint8_t>>(plan);
  }
}

TEST(ConvertPatch, MakesTheBytesOfThePlainLoops) {
  std::uint64_t seed = 1;
  for (const PixelFormat pixels : all_pixels) {
    for (const DType dtype : all_sources) {
      for (const Layout layout : all_layouts) {
        for (const Size size : {Size{1, 1}, {2, 3}, {3, 2}, {8, 4}, {9, 5}, {10, 1}, {31, 7}}) {
          for (const std::uint64_t channels : {1u, 3u, 4u}) {
            if (!goes(channels, pixels)) continue;
            const SampleOf what{.dtype = dtype,
                                .layout = layout,
                                .size = size,
                                .frames = 1 + seed % 2,
                                .channels = channels,
                                .range = {-0.7, 1.3},
                                .seed = seed++};
            SCOPED_TRACE(describe(what, pixels));
            const Sample sample = make_sample(what);
            const BytesBeforeWall walled(sample.bytes);
            const FrameView view = sample.at(walled.span().data());
            const FrameFormat format = format_for(view, pixels);
            Bytes expected(format.size() * view.frames);
            frames::convert_plain(frames::make_plan(view, format, expected.data()));
            GuardedBytes out(expected.size(), std::byte{0xcd}, seed % 3);
            convert_all(frames::make_plan(view, format, out.span().data()));
            ASSERT_TRUE(out.intact()) << "written outside";
            ASSERT_TRUE(std::ranges::equal(out.span(), expected));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace offramp
