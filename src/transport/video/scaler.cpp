// SPDX-License-Identifier: Apache-2.0
#if OFFRAMP_HAS_FFMPEG
#include "transport/video/scaler.hpp"

#include <algorithm>
#include <array>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
}

namespace offramp::decoding {
namespace {

constexpr int vector_size = 64;

int sws_matrix(ColorMatrix matrix) noexcept {
  return matrix == ColorMatrix::bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601;
}

void check(int code, std::string_view what) {
  if (code < 0) throw_av(code, what, {});
}

bool yuv_as_it_is(int format, PixelFormat to) noexcept {
  return (format == AV_PIX_FMT_YUVJ420P && to == PixelFormat::yuv420p) ||
         (format == AV_PIX_FMT_YUVJ444P && to == PixelFormat::yuv444p);
}

}  // namespace

void Scaler::put(const AVFrame& from, const ColorTags& tags, std::span<std::byte> out) {
  const bool one_format =
      from.format == av_format_of(to_.pixels) || yuv_as_it_is(from.format, to_.pixels);
  const bool one_color =
      !is_yuv(to_.pixels) || (tags.matrix == to_.matrix && tags.range == to_.range);
  if (one_format && one_color && from.width == static_cast<int>(to_.width) &&
      from.height == static_cast<int>(to_.height)) {
    check(av_image_copy_to_buffer(reinterpret_cast<std::uint8_t*>(out.data()),
                                  static_cast<int>(out.size()), from.data, from.linesize,
                                  av_format_of(to_.pixels), from.width, from.height, 1),
          "a picture cannot be copied");
    return;
  }
  prepare(from, tags);
  scale(from, out);
}

void Scaler::prepare(const AVFrame& from, const ColorTags& tags) {
  if (context_ && from.width == width_ && from.height == height_ && from.format == format_ &&
      tags.matrix == tags_.matrix && tags.range == tags_.range) {
    return;
  }
  context_ = own(sws_alloc_context());
  const auto set = [&](const char* name, std::int64_t value) {
    check(av_opt_set_int(context_.get(), name, value, 0), "swscale does not take an option");
  };
  set("srcw", from.width);
  set("srch", from.height);
  set("src_format", from.format);
  set("dstw", to_.width);
  set("dsth", to_.height);
  set("dst_format", av_format_of(to_.pixels));
  set("sws_flags", SWS_BICUBIC);  // as the ffmpeg program
  set("threads", static_cast<std::int64_t>(threads_));
  // Of Y'CbCr on both sides, swscale changes the matrix and the range on its own.
  static_cast<void>(sws_setColorspaceDetails(
      context_.get(), sws_getCoefficients(sws_matrix(tags.matrix)),
      tags.range == ColorRange::full ? 1 : 0, sws_getCoefficients(sws_matrix(to_.matrix)),
      to_.range == ColorRange::full ? 1 : 0, 0, 1 << 16, 1 << 16));
  check(sws_init_context(context_.get(), nullptr, nullptr), "a picture cannot be scaled");
  width_ = from.width;
  height_ = from.height;
  format_ = from.format;
  tags_ = tags;
  if (!aligned_) {
    aligned_ = own(av_frame_alloc());
    aligned_->format = av_format_of(to_.pixels);
    aligned_->width = static_cast<int>(to_.width);
    aligned_->height = static_cast<int>(to_.height);
    check(av_frame_get_buffer(aligned_.get(), vector_size), "no memory to scale");
  }
}

void Scaler::scale(const AVFrame& from, std::span<std::byte> out) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out.data());
  std::array<std::uint8_t*, 4> planes{};
  std::array<int, 4> lines{};
  check(av_image_fill_arrays(planes.data(), lines.data(), bytes, av_format_of(to_.pixels),
                             static_cast<int>(to_.width), static_cast<int>(to_.height), 1),
        "a picture has no such format");
  // Straight into place where every row is whole vectors, so that none is written over its end.
  const bool straight = std::ranges::all_of(planes, [&](std::uint8_t* const& plane) {
    const auto index = static_cast<std::size_t>(&plane - planes.data());
    return !plane || (lines[index] % vector_size == 0 &&
                      reinterpret_cast<std::uintptr_t>(plane) % vector_size == 0);
  });
  if (!straight) {
    check(sws_scale_frame(context_.get(), aligned_.get(), &from), "a picture cannot be scaled");
    check(av_image_copy_to_buffer(bytes, static_cast<int>(out.size()), aligned_->data,
                                  aligned_->linesize, av_format_of(to_.pixels),
                                  static_cast<int>(to_.width), static_cast<int>(to_.height), 1),
          "a picture cannot be copied");
    return;
  }
  const auto place = own(av_frame_alloc());
  place->format = av_format_of(to_.pixels);
  place->width = static_cast<int>(to_.width);
  place->height = static_cast<int>(to_.height);
  std::ranges::copy(planes, place->data);
  std::ranges::copy(lines, place->linesize);
  place->buf[0] = av_buffer_create(
      bytes, out.size(), [](void*, std::uint8_t*) {}, nullptr, 0);
  if (!place->buf[0]) throw OutOfMemory(0, "decoding");
  check(sws_scale_frame(context_.get(), place.get(), &from), "a picture cannot be scaled");
}

}  // namespace offramp::decoding
#endif
