// SPDX-License-Identifier: Apache-2.0
#include "unit/frames/frame_reference.hpp"

#include "core/bytes.hpp"
#include "core/float_bits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace offramp::testing_frames {
namespace {

double value_at(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return load<float>(at);
    case DType::fp16:
      return fp16_value(load<std::uint16_t>(at));
    case DType::bf16:
      return bf16_value(load<std::uint16_t>(at));
    case DType::u16:
      return load<std::uint16_t>(at);
    default:
      return load<std::uint8_t>(at);
  }
}

struct Reference {
  const FrameView& view;
  const FrameFormat& format;
  std::int64_t frame{};

  double unit(std::int64_t x, std::int64_t y, std::int64_t c) const {
    if (view.channels == 1) c = 0;
    const std::int64_t element = frame * view.frame_stride + y * view.row_stride +
                                 x * view.column_stride + c * view.channel_stride;
    const double value =
        value_at(view.data + element * static_cast<std::int64_t>(size_of(view.dtype)), view.dtype);
    if (std::isnan(value)) return 0;
    const double inside = std::clamp(value, view.range.low, view.range.high);
    return (inside - view.range.low) / (view.range.high - view.range.low);
  }

  std::array<double, 3> yuv(std::int64_t x, std::int64_t y) const {
    const double r = unit(x, y, 0);
    const double g = unit(x, y, 1);
    const double b = unit(x, y, 2);
    const bool is_709 = format.matrix == ColorMatrix::bt709;
    const double kr = is_709 ? 0.2126 : 0.299;
    const double kb = is_709 ? 0.0722 : 0.114;
    const double luma = kr * r + (1 - kr - kb) * g + kb * b;
    return {luma, (b - luma) / (2 * (1 - kb)), (r - luma) / (2 * (1 - kr))};
  }

  double code(double value, int channel) const {
    const int bits = bits_of(format.pixels);
    const double unit = std::exp2(bits - 8);
    const double top = std::exp2(bits) - 1;
    if (format.range == ColorRange::limited) {
      return channel == 0 ? unit * (16 + 219 * value) : unit * (128 + 224 * value);
    }
    return std::clamp(channel == 0 ? top * value : unit * 128 + top * value, 0.0, top);
  }

  void append(std::vector<double>& to) const {
    const std::int64_t w = format.width;
    const std::int64_t h = format.height;
    if (!is_yuv(format.pixels)) {
      const double top = std::exp2(bits_of(format.pixels)) - 1;
      for (std::int64_t y = 0; y < h; ++y) {
        for (std::int64_t x = 0; x < w; ++x) {
          for (int c = 0; c < channels_of(format.pixels); ++c) to.push_back(unit(x, y, c) * top);
        }
      }
      return;
    }
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x) to.push_back(code(yuv(x, y)[0], 0));
    }
    const bool half = is_subsampled(format.pixels);
    for (int channel = 1; channel < 3; ++channel) {
      for (std::int64_t y = 0; y < h; y += half ? 2 : 1) {
        for (std::int64_t x = 0; x < w; x += half ? 2 : 1) {
          double sum = 0;
          for (int down = 0; down < 2; ++down) {
            for (int right = -1; right < 2; ++right) {
              const std::int64_t column = std::clamp<std::int64_t>(x + right, 0, w - 1);
              sum += yuv(column, std::min(y + down, h - 1))[static_cast<std::size_t>(channel)] *
                     (right == 0 ? 2 : 1);
            }
          }
          const double value = half ? sum / 8 : yuv(x, y)[static_cast<std::size_t>(channel)];
          to.push_back(code(value, channel));
        }
      }
    }
  }
};

}  // namespace

std::vector<double> reference_codes(const FrameView& view, const FrameFormat& format) {
  std::vector<double> codes;
  for (std::uint64_t frame = 0; frame < view.frames; ++frame) {
    Reference{view, format, static_cast<std::int64_t>(frame)}.append(codes);
  }
  return codes;
}

std::vector<std::uint32_t> codes_of(std::span<const std::byte> frames, PixelFormat pixels) {
  std::vector<std::uint32_t> codes;
  const std::size_t size = bits_of(pixels) > 8 ? 2 : 1;
  for (std::size_t at = 0; at < frames.size(); at += size) {
    codes.push_back(size == 1 ? load<std::uint8_t>(&frames[at]) : load<std::uint16_t>(&frames[at]));
  }
  return codes;
}

void expect_near(std::span<const std::byte> frames, const std::vector<double>& reference,
                 PixelFormat pixels) {
  const std::vector<std::uint32_t> codes = codes_of(frames, pixels);
  ASSERT_EQ(codes.size(), reference.size());
  const double slip = bits_of(pixels) == 16 ? 0.02 : 0.0005;
  for (std::size_t at = 0; at < codes.size(); ++at) {
    ASSERT_LE(std::abs(codes[at] - reference[at]), 0.5 + slip)
        << "sample " << at << " is " << codes[at] << ", and should be " << reference[at];
  }
}

}  // namespace offramp::testing_frames
