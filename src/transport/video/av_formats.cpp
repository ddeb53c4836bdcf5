// SPDX-License-Identifier: Apache-2.0
#if OFFRAMP_HAS_FFMPEG
#include "transport/video/av_formats.hpp"

#include "core/checks.hpp"

#include <algorithm>
#include <array>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
}

namespace offramp::decoding {
namespace {

constexpr std::array<AVPixelFormat, pixel_format_count> names{
    AV_PIX_FMT_GRAY8,       AV_PIX_FMT_GRAY16LE,   AV_PIX_FMT_RGB24,   AV_PIX_FMT_RGBA,
    AV_PIX_FMT_RGB48LE,     AV_PIX_FMT_RGBA64LE,   AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P,
    AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV444P10LE};

constexpr std::array<PixelFormat, pixel_format_count> every{
    PixelFormat::gray8,     PixelFormat::gray16,   PixelFormat::rgb24,   PixelFormat::rgba32,
    PixelFormat::rgb48,     PixelFormat::rgba64,   PixelFormat::yuv420p, PixelFormat::yuv444p,
    PixelFormat::yuv420p10, PixelFormat::yuv444p10};

// The same samples under a name that says "full range".
AVPixelFormat plain(AVPixelFormat format) noexcept {
  if (format == AV_PIX_FMT_YUVJ420P) return AV_PIX_FMT_YUV420P;
  if (format == AV_PIX_FMT_YUVJ444P) return AV_PIX_FMT_YUV444P;
  return format;
}

}  // namespace

AVPixelFormat av_format_of(PixelFormat format) noexcept {
  return names[static_cast<std::size_t>(format)];
}

PixelFormat nearest_format(AVPixelFormat from, std::span<const PixelFormat> accepts) {
  if (accepts.empty()) accepts = every;
  const AVPixFmtDescriptor* const described = av_pix_fmt_desc_get(from);
  const int alpha = described && (described->flags & AV_PIX_FMT_FLAG_ALPHA) != 0 ? 1 : 0;
  PixelFormat best = accepts.front();
  // RGB that has to become Y'CbCr becomes what its reader likes best: players know 4:2:0.
  const bool rgb = described && (described->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  if (rgb && std::ranges::all_of(accepts, is_yuv)) return best;
  for (const PixelFormat one : accepts) {
    if (av_format_of(one) == plain(from)) return one;
    int loss = 0;
    const AVPixelFormat found =
        av_find_best_pix_fmt_of_2(av_format_of(best), av_format_of(one), plain(from), alpha, &loss);
    if (found == av_format_of(one)) best = one;
  }
  return best;
}

ColorTags color_tags(const AVFrame& picture, const ColorTags& fallback) noexcept {
  ColorTags tags = fallback;
  if (picture.colorspace == AVCOL_SPC_BT709) tags.matrix = ColorMatrix::bt709;
  if (picture.colorspace == AVCOL_SPC_SMPTE170M || picture.colorspace == AVCOL_SPC_BT470BG)
    tags.matrix = ColorMatrix::bt601;
  const auto format = static_cast<AVPixelFormat>(picture.format);
  if (picture.color_range == AVCOL_RANGE_MPEG) tags.range = ColorRange::limited;
  if (picture.color_range == AVCOL_RANGE_JPEG || plain(format) != format)
    tags.range = ColorRange::full;
  return tags;
}

}  // namespace offramp::decoding
#endif
