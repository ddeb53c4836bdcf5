// SPDX-License-Identifier: Apache-2.0
// Conversion of frames on one core, 832x480: GB/s of the source (bytes_per_second) and frames a
// second. Eight frames in turn, which do not fit the caches below the last one.
// OFFRAMP_BENCH_TARGET=AVX2 (or any name Highway has) holds the vector loops back.
#include <offramp/frames/convert.hpp>

#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace offramp;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t frames = 8;
constexpr std::uint32_t width = 832;
constexpr std::uint32_t height = 480;
constexpr std::size_t values = frames * width * height * 3;

Bytes make_values(DType dtype) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> around(-1.1F, 1.1F);
  Bytes bytes(values * size_of(dtype));
  for (std::size_t at = 0; at < values; ++at) {
    const float value = around(random);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::byte* const to = bytes.data() + at * size_of(dtype);
    const auto put = [&](auto lane) { std::memcpy(to, &lane, sizeof lane); };
    if (dtype == DType::fp32) {
      put(value);
    } else if (dtype == DType::bf16) {
      put(static_cast<std::uint16_t>(bits >> 16));
    } else if (dtype == DType::fp16) {  // of normal values, cut
      const std::uint32_t exponent = bits >> 23 & 0xff;
      const std::uint32_t half = exponent < 113 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
      put(static_cast<std::uint16_t>((bits >> 16 & 0x8000) | half));
    } else {
      put(static_cast<std::uint8_t>(bits));
    }
  }
  return bytes;
}

void run(benchmark::State& state, DType dtype, const std::string& axes, PixelFormat pixels) {
  const Bytes source = make_values(dtype);
  const std::array<std::uint64_t, 4> nhwc{frames, height, width, 3};
  const std::array<std::uint64_t, 4> nchw{frames, 3, height, width};
  const ValueRange range = dtype == DType::u8 ? usual_range(dtype) : ValueRange{-1, 1};
  const FrameView view =
      frame_view(source.data(), dtype, axes == "nhwc" ? nhwc : nchw, axes, range);
  FrameFormat format;
  format.pixels = pixels;
  format.width = width;
  format.height = height;
  Bytes out(frames * format.size());
  for (auto _ : state) {
    convert(view, format, out.data());
    benchmark::ClobberMemory();
  }
  const auto turns = static_cast<std::int64_t>(state.iterations());
  state.SetBytesProcessed(turns * static_cast<std::int64_t>(source.size()));
  state.SetItemsProcessed(turns * static_cast<std::int64_t>(frames));
}

void hold_back() {
  const char* const wanted = std::getenv("OFFRAMP_BENCH_TARGET");
  if (!wanted) return;
  for (auto left = static_cast<std::uint64_t>(hwy::SupportedTargets()); left != 0;
       left &= left - 1) {
    const auto target = static_cast<std::uint32_t>(left & -left);
    if (wanted == std::string(hwy::TargetName(target))) hwy::SetSupportedTargetsForTest(target);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_back();
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::u8}) {
    for (const std::string axes : {"nhwc", "nchw"}) {
      for (const PixelFormat pixels : {PixelFormat::rgb24, PixelFormat::yuv420p,
                                       PixelFormat::yuv444p, PixelFormat::yuv420p10}) {
        const std::string name =
            std::string(name_of(dtype)) + "/" + axes + "/" + std::string(name_of(pixels));
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          run(state, dtype, axes, pixels);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
