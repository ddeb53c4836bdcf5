// SPDX-License-Identifier: Apache-2.0
// The conversion on a GPU against the host's: the same bytes, nothing written outside.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/frames/frame_samples.hpp"
#include "frames/device_convert.hpp"

#include <offramp/cuda/stream.hpp>
#include <offramp/frames/convert.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace offramp {
namespace {

using namespace testing_frames;

constexpr std::size_t guard = 256;
constexpr std::byte mark{0xa7};

class CudaFrames : public testing_device::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    stream_ = device().make_stream();
  }

  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    device().copy_async(stream_, {to, from, size});
    stream_.ref().sync();
  }

  // Converts on the GPU, `skew` bytes off the usual alignment, and compares.
  void check(const Sample& sample, const FrameFormat& format, std::size_t in_skew = 0,
             std::size_t out_skew = 0) {
    const std::size_t size = format.size() * sample.view.frames;
    Bytes expected(size);
    convert(sample.view, format, expected.data());
    const Buffer in(stream_, device().memory(), sample.bytes.size() + in_skew);
    copy(in.data() + in_skew, sample.bytes.data(), sample.bytes.size());
    const Buffer out(stream_, device().memory(), size + 2 * guard + out_skew);
    Bytes image(out.size(), mark);
    copy(out.data(), image.data(), image.size());
    const std::size_t begin = guard + out_skew;
    convert_async(device(), stream_, sample.at(in.data() + in_skew), format, out.data() + begin);
    stream_.ref().sync();
    copy(image.data(), out.data(), image.size());
    for (std::size_t at = 0; at < image.size(); ++at) {
      if (at == begin) at += size;
      ASSERT_EQ(image[at], mark) << "byte " << at << " of the guard was written";
    }
    const auto got = std::span(image).subspan(begin, size);
    const auto differ = std::ranges::mismatch(got, expected);
    ASSERT_EQ(differ.in2, expected.end())
        << "byte " << differ.in2 - expected.begin() << " of " << expected.size();
  }

  Stream stream_;
};

TEST_F(CudaFrames, MakeTheHostsBytes) {
  std::uint64_t seed = 1;
  for (const PixelFormat pixels : all_pixels) {
    for (const DType dtype : all_sources) {
      for (const Layout layout : all_layouts) {
        for (const Size size : {Size{1, 1}, {2, 3}, {3, 2}, {129, 17}, {260, 18}, {853, 5}}) {
          for (const std::uint64_t channels : {1u, 3u, 4u}) {
            if (!goes(channels, pixels)) continue;
            const SampleOf what{.dtype = dtype,
                                .layout = layout,
                                .size = size,
                                .frames = 1 + seed % 3,
                                .channels = channels,
                                .range = seed % 3 == 0 ? usual_range(dtype) : ValueRange{-0.7, 1.3},
                                .seed = seed};
            ++seed;
            SCOPED_TRACE(describe(what, pixels));
            const Sample sample = make_sample(what);
            FrameFormat format = format_for(sample.view, pixels);
            format.matrix = seed % 2 == 0 ? ColorMatrix::bt709 : ColorMatrix::bt601;
            format.range = seed % 5 < 2 ? ColorRange::full : ColorRange::limited;
            check(sample, format, seed % 4 * size_of(dtype), seed % 5);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(CudaFrames, MakeTheHostsBytesOfLargeFrames) {
  std::uint64_t seed = 1;
  for (const Size size : {Size{832, 480}, {853, 481}, {1280, 720}}) {
    for (const PixelFormat pixels :
         {PixelFormat::rgb24, PixelFormat::yuv420p, PixelFormat::yuv444p10}) {
      for (const Layout layout : {Layout::nhwc, Layout::cnhw}) {
        const SampleOf what{.dtype = seed % 2 == 0 ? DType::fp32 : DType::bf16,
                            .layout = layout,
                            .size = size,
                            .frames = 2,
                            .range = {-1, 1},
                            .seed = seed++};
        SCOPED_TRACE(describe(what, pixels));
        const Sample sample = make_sample(what);
        check(sample, format_for(sample.view, pixels));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CudaFrames, MakeTheHostsBytesOfEveryPatternOfSixteenBits) {
  Sample sample;
  for (std::uint32_t at = 0; at < 65536; ++at) {
    sample.bytes.push_back(static_cast<std::byte>(at));
    sample.bytes.push_back(static_cast<std::byte>(at >> 8));
  }
  const std::array<std::uint64_t, 2> extents{64, 1024};
  for (const DType dtype : {DType::fp16, DType::bf16, DType::u16}) {
    for (const ValueRange range : {ValueRange{-1, 1}, {0, 1e-5}, {-60000, 60000}}) {
      sample.view = frame_view(sample.bytes.data(), dtype, extents, "hw", range);
      check(sample, format_for(sample.view, PixelFormat::gray16));
    }
  }
}

// More rows and frames than a grid's second and third extents can be.
TEST_F(CudaFrames, TakeTallAndManyFrames) {
  const Sample tall = make_sample({.dtype = DType::u8, .size = {1, 1100000}, .range = {0, 255}});
  check(tall, format_for(tall.view, PixelFormat::yuv420p));
  const Sample many =
      make_sample({.dtype = DType::u8, .size = {3, 2}, .frames = 70000, .range = {0, 255}});
  check(many, format_for(many.view, PixelFormat::rgb24));
}

TEST_F(CudaFrames, AreCapturedIntoAGraphAsOneKernel) {
  const Sample sample = make_sample({.size = {33, 5}, .frames = 3});
  const FrameFormat format = format_for(sample.view, PixelFormat::yuv420p);
  const Buffer in(stream_, device().memory(), sample.bytes.size());
  copy(in.data(), sample.bytes.data(), sample.bytes.size());
  const Buffer out(stream_, device().memory(), 3 * format.size());
  frames::device_convert(device()).load(device());
  const ContextGuard context(cuda_device(0).context());
  cudaGraph_t graph{};
  ASSERT_EQ(cudaStreamBeginCapture(native(stream_.ref()), cudaStreamCaptureModeGlobal),
            cudaSuccess);
  convert_async(device(), stream_, sample.at(in.data()), format, out.data());
  ASSERT_EQ(cudaStreamEndCapture(native(stream_.ref()), &graph), cudaSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1u);
  cudaGraphExec_t exec{};
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, native(stream_.ref())), cudaSuccess);
  stream_.ref().sync();
  Bytes got(out.size());
  copy(got.data(), out.data(), got.size());
  Bytes expected(got.size());
  convert(sample.view, format, expected.data());
  EXPECT_EQ(got, expected);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(CudaFrames, RefuseValuesBetweenTheirPlaces) {
  const Sample sample = make_sample({.size = {4, 2}});
  const FrameFormat format = format_for(sample.view, PixelFormat::rgb24);
  const Buffer in(stream_, device().memory(), sample.bytes.size() + 1);
  const Buffer out(stream_, device().memory(), format.size());
  EXPECT_THROW(convert_async(device(), stream_, sample.at(in.data() + 1), format, out.data()),
               LogicError);
}

}  // namespace
}  // namespace offramp
