// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "frames/convert_plan.hpp"

#include <algorithm>

namespace offramp::frames {
namespace {

float value_at(const std::byte* at, DType dtype) noexcept {
  switch (dtype) {
    case DType::fp32:
      return load<float>(at);
    case DType::fp16:
      return half_value(load<std::uint16_t>(at));
    case DType::bf16:
      return bfloat_value(load<std::uint16_t>(at));
    case DType::u16:
      return load<std::uint16_t>(at);
    default:
      return load<std::uint8_t>(at);
  }
}

class PlainFrame {
 public:
  PlainFrame(const ConvertPlan& plan, std::uint64_t number) noexcept
      : plan_(plan),
        from_(plan.from + static_cast<std::int64_t>(number) * plan.frame_stride),
        to_(plan.to + number * plan.frame_size),
        sample_size_(bits_of(plan.pixels) > 8 ? 2 : 1) {}

  void convert() noexcept {
    if (is_yuv(plan_.pixels)) {
      luma();
      chroma();
      return;
    }
    const auto channels = static_cast<std::uint32_t>(channels_of(plan_.pixels));
    for (std::uint32_t y = 0; y < plan_.height; ++y) {
      for (std::uint32_t x = 0; x < plan_.width; ++x) {
        for (std::uint32_t c = 0; c < channels; ++c) put(code_of(unit(x, y, c), plan_.top));
      }
    }
  }

 private:
  float unit(std::uint32_t x, std::uint32_t y, std::uint32_t c) const noexcept {
    const std::uint32_t channel = plan_.channels == 1 ? 0 : c;
    const std::byte* const at = from_ + std::int64_t{y} * plan_.row_stride +
                                std::int64_t{x} * plan_.column_stride +
                                std::int64_t{channel} * plan_.channel_stride;
    return unit_of(value_at(at, plan_.dtype), plan_.scaling);
  }

  Rgb pixel(std::uint32_t x, std::uint32_t y) const noexcept {
    return {unit(x, y, 0), unit(x, y, 1), unit(x, y, 2)};
  }

  void put(std::uint32_t code) noexcept {
    if (sample_size_ == 1) {
      store(to_, static_cast<std::uint8_t>(code));
    } else {
      store(to_, static_cast<std::uint16_t>(code));
    }
    to_ += sample_size_;
  }

  void luma() noexcept {
    for (std::uint32_t y = 0; y < plan_.height; ++y) {
      for (std::uint32_t x = 0; x < plan_.width; ++x) {
        put(yuv_code(plan_.matrix.y, plan_.matrix.top, pixel(x, y)));
      }
    }
  }

  // Of a pixel, or the weighted sum of six pixels.
  Rgb chroma_rgb(std::uint32_t x, std::uint32_t y) const noexcept {
    if (!is_subsampled(plan_.pixels)) return pixel(x, y);
    const std::uint32_t top = 2 * y;
    const std::uint32_t bottom = std::min(top + 1, plan_.height - 1);
    const auto column = [&](std::uint32_t at) { return sum_of(pixel(at, top), pixel(at, bottom)); };
    const Rgb left = column(x == 0 ? 0 : 2 * x - 1);
    const Rgb middle = column(2 * x);
    const Rgb right = column(std::min(2 * x + 1, plan_.width - 1));
    return sum_of(sum_of(left, right), sum_of(middle, middle));
  }

  void chroma() noexcept {
    const bool half = is_subsampled(plan_.pixels);
    const std::uint32_t width = half ? plan_.width / 2 + plan_.width % 2 : plan_.width;
    const std::uint32_t height = half ? plan_.height / 2 + plan_.height % 2 : plan_.height;
    for (const YuvRow* const row : {&plan_.matrix.u, &plan_.matrix.v}) {
      for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
          put(yuv_code(*row, plan_.matrix.top, chroma_rgb(x, y)));
        }
      }
    }
  }

  const ConvertPlan& plan_;
  const std::byte* from_;
  std::byte* to_;
  std::size_t sample_size_;
};

}  // namespace

void convert_plain(const ConvertPlan& plan) noexcept {
  for (std::uint64_t frame = 0; frame < plan.frames; ++frame) PlainFrame(plan, frame).convert();
}

}  // namespace offramp::frames
