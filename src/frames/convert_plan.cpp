// SPDX-License-Identifier: Apache-2.0
#include "frames/convert_plan.hpp"

#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/frames/convert.hpp>

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace offramp {
namespace {

bool is_source(DType dtype) noexcept {
  return dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16 ||
         dtype == DType::u8 || dtype == DType::u16;
}

// Whether a range can be scaled in float32.
bool has_scale(const ValueRange& range) noexcept {
  const auto low = static_cast<float>(range.low);
  const auto high = static_cast<float>(range.high);
  return std::isfinite(low) && std::isfinite(high) && low < high && std::isfinite(high - low) &&
         std::isfinite(1.0F / (high - low)) && 1.0F / (high - low) > 0;
}

// Whether every element's distance from the first one is a number of bytes.
bool is_reachable(const FrameView& from) noexcept {
  std::int64_t farthest = 0;
  const std::array<std::pair<std::uint64_t, std::int64_t>, 4> axes{
      {{from.frames, from.frame_stride},
       {from.height, from.row_stride},
       {from.width, from.column_stride},
       {from.channels, from.channel_stride}}};
  const auto size = static_cast<std::int64_t>(size_of(from.dtype));
  for (const auto& [extent, stride] : axes) {
    if (extent <= 1) continue;
    if (stride == INT64_MIN) return false;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(extent - 1, std::abs(stride), &bytes) ||
        __builtin_mul_overflow(bytes, size, &bytes) ||
        __builtin_add_overflow(farthest, bytes, &farthest)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void expect_convertible(const FrameView& from, const FrameFormat& to) {
  if (!is_source(from.dtype)) {
    throw LogicError(
        fmt::format("frames of {} are not converted: make them fp32, fp16, bf16, u8 or u16",
                    name_of(from.dtype)));
  }
  if (from.width != to.width || from.height != to.height || to.width == 0 || to.height == 0) {
    throw LogicError(fmt::format("frames of {}x{} (width x height) do not fit a format of {}x{}",
                                 from.width, from.height, to.width, to.height));
  }
  if (from.channels != 1 && from.channels != 3 && from.channels != 4) {
    throw LogicError(
        fmt::format("frames have 1 (gray), 3 (RGB) or 4 (RGBA) channels, not {}", from.channels));
  }
  const int wanted = channels_of(to.pixels);
  const bool fits = wanted == 4 ? from.channels == 4 : wanted == 1 ? from.channels == 1 : true;
  if (!fits) {
    throw LogicError(fmt::format("frames of {} channels do not become {}, which has {}",
                                 from.channels, name_of(to.pixels), wanted));
  }
  if (!has_scale(from.range)) {
    throw LogicError(fmt::format(
        "values from {} to {} are no range: high must be above low, both finite numbers of fp32",
        from.range.low, from.range.high));
  }
  OFFRAMP_EXPECTS(is_reachable(from), "the strides reach beyond all memory");
  std::size_t all = 0;
  OFFRAMP_EXPECTS(!__builtin_mul_overflow(to.size(), from.frames, &all),
                  "the converted frames have more bytes than can be counted");
}

namespace frames {

YuvMatrix yuv_matrix(const FrameFormat& format) noexcept {
  const bool is_709 = format.matrix == ColorMatrix::bt709;
  const double red = is_709 ? 0.2126 : 0.299;
  const double blue = is_709 ? 0.0722 : 0.114;
  const int bits = bits_of(format.pixels);
  const bool is_full = format.range == ColorRange::full;
  const double unit = static_cast<double>(1 << (bits - 8));
  const double all = static_cast<double>((1 << bits) - 1);
  const double luma = is_full ? all : 219 * unit;
  const double chroma = is_full ? all : 224 * unit;
  // Multiples of 2^-14: sums of coefficients are exact, so that the corners of the colour cube are.
  const auto grain = [](double value) { return std::nearbyint(value * 0x1p14) * 0x1p-14; };
  const auto row = [](double r, double g, double b, double offset) {
    return YuvRow{static_cast<float>(r), static_cast<float>(g), static_cast<float>(b),
                  static_cast<float>(offset)};
  };
  const double share = is_subsampled(format.pixels) ? 0.125 : 1.0;
  const double half = chroma / 2;
  const double y_red = grain(luma * red);
  const double y_blue = grain(luma * blue);
  const double u_red = grain(-half * red / (1 - blue));
  const double v_blue = grain(-half * blue / (1 - red));
  return {.y = row(y_red, luma - y_red - y_blue, y_blue, is_full ? 0 : 16 * unit),
          .u = row(u_red * share, (-half - u_red) * share, half * share, 128 * unit),
          .v = row(half * share, (-half - v_blue) * share, v_blue * share, 128 * unit),
          .top = static_cast<float>(all)};
}

ConvertPlan make_plan(const FrameView& from, const FrameFormat& format, std::byte* to) {
  expect_convertible(from, format);
  OFFRAMP_EXPECTS(from.frames == 0 || (from.data && to), "frames to convert have no memory");
  const auto size = static_cast<std::int64_t>(size_of(from.dtype));
  // A stride that is never stepped may be any number.
  const auto bytes = [size](std::uint64_t extent, std::int64_t stride) {
    return extent > 1 ? stride * size : 0;
  };
  const int wanted = channels_of(format.pixels);
  ConvertPlan plan{.from = from.data,
                   .to = to,
                   .dtype = from.dtype,
                   .pixels = format.pixels,
                   .frames = from.frames,
                   .width = format.width,
                   .height = format.height,
                   .channels = from.channels == 1 ? 1 : static_cast<std::uint32_t>(wanted),
                   .stored_channels = static_cast<std::uint32_t>(from.channels),
                   .frame_stride = bytes(from.frames, from.frame_stride),
                   .row_stride = bytes(from.height, from.row_stride),
                   .column_stride = bytes(from.width, from.column_stride),
                   .channel_stride = bytes(from.channels, from.channel_stride),
                   .frame_size = format.size(),
                   .scaling = {},
                   .top = bits_of(format.pixels) == 8 ? 255.0F : 65535.0F,
                   .is_copy = false,
                   .matrix = {}};
  plan.scaling.low = static_cast<float>(from.range.low);
  plan.scaling.high = static_cast<float>(from.range.high);
  plan.scaling.scale = static_cast<float>(
      1 / (static_cast<double>(plan.scaling.high) - static_cast<double>(plan.scaling.low)));
  plan.is_copy = from.dtype == (bits_of(format.pixels) == 8 ? DType::u8 : DType::u16) &&
                 from.range == usual_range(from.dtype);
  if (is_yuv(format.pixels)) plan.matrix = yuv_matrix(format);
  return plan;
}

}  // namespace frames
}  // namespace offramp
