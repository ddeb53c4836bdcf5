// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <array>

namespace offramp {
namespace {

struct FormatRow {
  std::string_view name;
  int bits;
  int channels;
};

// By the number of the format.
constexpr std::array<FormatRow, pixel_format_count> rows{{
    {"gray8", 8, 1},
    {"gray16", 16, 1},
    {"rgb24", 8, 3},
    {"rgba32", 8, 4},
    {"rgb48", 16, 3},
    {"rgba64", 16, 4},
    {"yuv420p", 8, 3},
    {"yuv444p", 8, 3},
    {"yuv420p10", 10, 3},
    {"yuv444p10", 10, 3},
}};

const FormatRow& row_of(PixelFormat format) noexcept {
  return rows[static_cast<std::size_t>(format)];
}

}  // namespace

std::string_view name_of(PixelFormat format) noexcept { return row_of(format).name; }

std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept {
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (rows[at].name == name) return static_cast<PixelFormat>(at);
  }
  return std::nullopt;
}

int bits_of(PixelFormat format) noexcept { return row_of(format).bits; }

int channels_of(PixelFormat format) noexcept { return row_of(format).channels; }

std::size_t FrameFormat::size() const {
  const std::uint64_t luma = std::uint64_t{width} * height;
  std::uint64_t samples = 0;
  bool fits = true;
  if (is_subsampled(pixels)) {
    const std::uint64_t chroma = (std::uint64_t{width} + 1) / 2 * ((std::uint64_t{height} + 1) / 2);
    fits = !__builtin_add_overflow(luma, 2 * chroma, &samples);
  } else {
    fits = !__builtin_mul_overflow(luma, static_cast<std::uint64_t>(channels_of(pixels)), &samples);
  }
  std::size_t size = 0;
  const std::uint64_t width_of_sample = bits_of(pixels) > 8 ? 2 : 1;
  fits = fits && !__builtin_mul_overflow(samples, width_of_sample, &size);
  OFFRAMP_EXPECTS(fits, "a frame of this format has more bytes than can be counted");
  return size;
}

}  // namespace offramp
