// SPDX-License-Identifier: Apache-2.0
#include "contract/frames/frame_samples.hpp"

#include "core/float_bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace offramp::testing_frames {
namespace {

// Nearest by search: fp16 values of one sign are in the order of their bits.
std::uint16_t fp16_bits(double value) {
  if (std::isnan(value)) return 0x7e01;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (size >= 65520) return sign | 0x7c00;
  std::uint16_t low = 0;
  std::uint16_t high = 0x7bff;
  while (low < high) {
    const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
    if (fp16_value(middle) <= size) {
      low = middle;
    } else {
      high = static_cast<std::uint16_t>(middle - 1);
    }
  }
  return sign | low;
}

template <class Lane>
Lane integer(double value) {
  constexpr double top = std::numeric_limits<Lane>::max();
  return static_cast<Lane>(std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), 0.0, top));
}

void put(DType dtype, double number, std::byte* to) {
  const auto as = [&](auto lane) { std::memcpy(to, &lane, sizeof lane); };
  switch (dtype) {
    case DType::fp32:
      return as(static_cast<float>(number));
    case DType::fp16:
      return as(fp16_bits(number));
    case DType::bf16:
      return as(static_cast<std::uint16_t>(
          std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16 |
          static_cast<std::uint32_t>(std::isnan(number))));
    case DType::u16:
      return as(integer<std::uint16_t>(number));
    default:
      return as(integer<std::uint8_t>(number));
  }
}

}  // namespace

Bytes values_of(DType dtype, const std::vector<double>& numbers) {
  Bytes bytes(numbers.size() * size_of(dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    put(dtype, numbers[i], bytes.data() + i * size_of(dtype));
  }
  return bytes;
}

Sample make_sample(const SampleOf& what) {
  const auto w = static_cast<std::int64_t>(what.size.width);
  const auto h = static_cast<std::int64_t>(what.size.height);
  const auto n = static_cast<std::int64_t>(what.frames);
  const auto c = static_cast<std::int64_t>(what.channels);
  Sample sample;
  FrameView& view = sample.view;
  view = {.data = nullptr,
          .dtype = what.dtype,
          .frames = what.frames,
          .height = what.size.height,
          .width = what.size.width,
          .channels = what.channels,
          .frame_stride = h * w * c,
          .row_stride = w * c,
          .column_stride = c,
          .channel_stride = 1,
          .range = what.range};
  const auto strides = [&](std::int64_t frame, std::int64_t row, std::int64_t column,
                           std::int64_t channel) {
    view.frame_stride = frame;
    view.row_stride = row;
    view.column_stride = column;
    view.channel_stride = channel;
  };
  std::int64_t count = n * h * w * c;
  std::int64_t origin = 0;
  switch (what.layout) {
    case Layout::nhwc:
      break;
    case Layout::nchw:
      strides(c * h * w, w, 1, h * w);
      break;
    case Layout::cnhw:
      strides(h * w, w, 1, n * h * w);
      break;
    case Layout::nwhc:
      strides(w * h * c, c, h * c, 1);
      break;
    case Layout::padded:
      strides(h * (w * c + 5), w * c + 5, c, 1);
      count = n * h * (w * c + 5);
      break;
    case Layout::flipped:
      strides(-h * w * c, -w * c, -c, -1);
      origin = count - 1;
      break;
    case Layout::still:
      strides(w * c, 0, c, 1);
      count = n * w * c;
      break;
    case Layout::gray:
      strides(h * w, w, 1, 0);
      count = n * h * w;
      break;
    case Layout::sliced: {
      const std::int64_t step = c == 3 ? 4 : 5;  // of RGBA, the colours
      strides(h * w * step, w * step, step, 1);
      count = n * h * w * step - (step - c);
      break;
    }
  }
  std::mt19937_64 random(what.seed);
  const double low = what.range.low;
  const double span = what.range.high - low;
  std::uniform_real_distribution<double> around(low - span / 8, low + span * 9 / 8);
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::array special{
      low,   low + span, -inf, inf,   -inf - -inf,    low - span, 1e30,
      -1e30, 0.0,        -0.0, 1e-40, low + span / 2, 70000.0,    low + span * 1.0001};
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) {
    number = random() % 8 == 0 ? special[random() % special.size()] : around(random);
  }
  sample.bytes = values_of(what.dtype, numbers);
  sample.origin = static_cast<std::size_t>(origin) * size_of(what.dtype);
  view.data = sample.bytes.data() + sample.origin;
  return sample;
}

std::string describe(const SampleOf& what, PixelFormat pixels) {
  static constexpr std::array layouts{"nhwc",    "nchw",  "cnhw", "nwhc",  "padded",
                                      "flipped", "still", "gray", "sliced"};
  return std::string(name_of(what.dtype)) + " " + layouts[static_cast<std::size_t>(what.layout)] +
         " " + std::to_string(what.frames) + "x" + std::to_string(what.size.width) + "x" +
         std::to_string(what.size.height) + "x" + std::to_string(what.channels) + " to " +
         std::string(name_of(pixels));
}

FrameFormat format_for(const FrameView& view, PixelFormat pixels) {
  FrameFormat format;
  format.pixels = pixels;
  format.width = static_cast<std::uint32_t>(view.width);
  format.height = static_cast<std::uint32_t>(view.height);
  return format;
}

bool goes(std::uint64_t channels, PixelFormat pixels) {
  const int wanted = channels_of(pixels);
  return wanted == 3 || channels == static_cast<std::uint64_t>(wanted);
}

std::uint64_t channels_for(PixelFormat pixels) {
  return static_cast<std::uint64_t>(channels_of(pixels));
}

}  // namespace offramp::testing_frames
