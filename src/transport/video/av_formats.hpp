// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/frames/pixel_format.hpp>

#include <span>

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace offramp::decoding {

[[nodiscard]] AVPixelFormat av_format_of(PixelFormat format) noexcept;

/// Which of `accepts` (all formats where that is empty) keeps most of `from`: that itself where it
/// is one of them.
[[nodiscard]] PixelFormat nearest_format(AVPixelFormat from, std::span<const PixelFormat> accepts);

/// What a decoded picture says of its colours, where it does.
struct ColorTags {
  ColorMatrix matrix{};
  ColorRange range{};
};
/// `fallback` is for what the picture does not say.
[[nodiscard]] ColorTags color_tags(const AVFrame& picture, const ColorTags& fallback) noexcept;

}  // namespace offramp::decoding
