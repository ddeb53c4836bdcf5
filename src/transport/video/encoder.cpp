// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/encoder.hpp"

#include "transport/video/encoder_log.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

extern "C" {
#include <libavutil/opt.h>
}

namespace offramp::encoding {
namespace {

constexpr std::array<std::string_view, 10> x26x_presets{
    "ultrafast", "superfast", "veryfast", "faster",   "fast",
    "medium",    "slow",      "slower",   "veryslow", "placebo"};
constexpr std::array<std::string_view, 14> svt_presets{"0", "1", "2", "3",  "4",  "5",  "6",
                                                       "7", "8", "9", "10", "11", "12", "13"};
constexpr std::array<std::string_view, 7> nvenc_presets{"p1", "p2", "p3", "p4", "p5", "p6", "p7"};

// The first that is there is the default. SVT-AV1's 0 means "not set" to FFmpeg.
constexpr std::array kinds{
    EncoderKind{"libx264", "crf", 0, 51, 23, x26x_presets, false},
    EncoderKind{"libx265", "crf", 0, 51, 28, x26x_presets, false, 2},
    EncoderKind{"libsvtav1", "crf", 1, 63, 35, svt_presets, false},
    EncoderKind{"h264_nvenc", "cq", 1, 51, 23, nvenc_presets, true},
    EncoderKind{"hevc_nvenc", "cq", 1, 51, 28, nvenc_presets, true},
    EncoderKind{"av1_nvenc", "cq", 1, 51, 35, nvenc_presets, true},
};

struct NamedFormat {
  PixelFormat ours;
  AVPixelFormat theirs;
};
constexpr std::array video_formats{NamedFormat{PixelFormat::yuv420p, AV_PIX_FMT_YUV420P},
                                   NamedFormat{PixelFormat::yuv420p10, AV_PIX_FMT_YUV420P10LE},
                                   NamedFormat{PixelFormat::yuv444p, AV_PIX_FMT_YUV444P},
                                   NamedFormat{PixelFormat::yuv444p10, AV_PIX_FMT_YUV444P10LE}};

AVPixelFormat av_format_of(PixelFormat format) noexcept {
  const auto found = std::ranges::find(video_formats, format, &NamedFormat::ours);
  return found == video_formats.end() ? AV_PIX_FMT_NONE : found->theirs;
}

[[noreturn]] void refuse(const std::string& path, std::string what, std::string remedy) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = std::move(what),
                   .path = path,
                   .remedy = std::move(remedy)});
}

void set(AVCodecContext& encoder, const char* name, const std::string& value) {
  const int code = av_opt_set(encoder.priv_data, name, value.c_str(), 0);
  if (code < 0) {
    refuse({}, fmt::format("the encoder {} has no {} '{}'", encoder.codec->name, name, value),
           "another version of FFmpeg's libraries may have it");
  }
}

void set_quality(AVCodecContext& encoder, const EncoderKind& kind, int quality) {
  const std::string_view name = kind.name;
  if (name == "libx264" && quality == 0) {
    set(encoder, "qp", "0");  // lossless with 10 bits too, where crf 0 is not
    return;
  }
  set(encoder, kind.quality, std::to_string(quality));
  if (kind.hardware) {
    set(encoder, "rc", "vbr");
    encoder.bit_rate = 0;
  }
}

// Threads of its own, beside those that FFmpeg tells it of.
void set_own_options(AVCodecContext& encoder, const EncoderKind& kind, std::size_t threads) {
  const std::string_view name = kind.name;
  if (name == "libx265") {
    set(encoder, "x265-params",
        threads > 0 ? fmt::format("log-level=none:pools={}", threads) : "log-level=none");
  } else if (name == "libsvtav1" && threads > 0) {
    set(encoder, "svtav1-params", fmt::format("lp={}", threads));
  }
}

OpenEncoder prepare(const EncoderKind& kind, const EncoderSettings& settings,
                    const FrameFormat& format) {
  const AVCodec* const codec = avcodec_find_encoder_by_name(kind.name);
  OpenEncoder made(avcodec_alloc_context3(codec));
  if (!made) throw OutOfMemory(sizeof(AVCodecContext), "a video encoder");
  AVCodecContext& encoder = *made;
  encoder.width = static_cast<int>(format.width);
  encoder.height = static_cast<int>(format.height);
  encoder.sample_aspect_ratio = {1, 1};
  encoder.pix_fmt = av_format_of(format.pixels);
  encoder.time_base = {static_cast<int>(format.rate.den), static_cast<int>(format.rate.num)};
  encoder.framerate = {static_cast<int>(format.rate.num), static_cast<int>(format.rate.den)};
  encoder.thread_count = static_cast<int>(std::min<std::size_t>(settings.threads, 128));
  encoder.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  const ColorTags tags = color_tags(format);
  encoder.color_primaries = tags.primaries;
  encoder.color_trc = tags.transfer;
  encoder.colorspace = tags.matrix;
  encoder.color_range = tags.range;
  encoder.chroma_sample_location = tags.chroma;
  // Its lines, from whatever thread, are below what anybody prints; LogCapture hears them.
  encoder.log_level_offset = LogCapture::level_offset;
  set_own_options(encoder, kind, settings.threads);
  set_quality(encoder, kind, settings.quality.value_or(kind.usual));
  if (!settings.preset.empty()) set(encoder, "preset", settings.preset);
  return made;
}

// Opens a session as small as all take; what it says where it does not open.
std::optional<std::string> why_closed(const EncoderKind& kind) {
  if (!avcodec_find_encoder_by_name(kind.name)) return "FFmpeg's libraries here are without it";
  if (!kind.hardware) return {};
  const OpenEncoder encoder =
      prepare(kind, {}, {.pixels = PixelFormat::yuv420p, .width = 256, .height = 144});
  const LogCapture log;
  const int code = avcodec_open2(encoder.get(), encoder->codec, nullptr);
  if (code >= 0) return {};
  return log.or_words_of(code);
}

std::string working_encoders() {
  std::vector<std::string_view> working;
  for (const EncoderKind& kind : kinds) {
    if (!why_closed(kind)) working.emplace_back(kind.name);
  }
  return working.empty() ? "none" : fmt::format("{}", fmt::join(working, ", "));
}

// Sends a last picture, so that there is one, and takes and drops all that comes. An encoder that
// was drained before refuses the picture.
void drain(AVCodecContext& encoder) noexcept {
  AVFrame* frame = av_frame_alloc();
  AVPacket* packet = av_packet_alloc();
  if (frame && packet) {
    frame->format = encoder.pix_fmt;
    frame->width = encoder.width;
    frame->height = encoder.height;
    frame->pts = INT32_MAX;  // behind all others
    if (av_frame_get_buffer(frame, 0) >= 0 && avcodec_send_frame(&encoder, frame) >= 0) {
      static_cast<void>(avcodec_send_frame(&encoder, nullptr));
      while (avcodec_receive_packet(&encoder, packet) >= 0) av_packet_unref(packet);
    }
  }
  av_packet_free(&packet);
  av_frame_free(&frame);
}

}  // namespace

void FreeEncoder::operator()(AVCodecContext* at) const noexcept {
  try {
    const LogCapture log;
    // SVT-AV1 (1.4) never returns from closing where it has got no frame or was not drained.
    if (avcodec_is_open(at) != 0 && at->codec->name == std::string_view("libsvtav1")) drain(*at);
  } catch (...) {  // no memory to listen: close it all the same
  }
  avcodec_free_context(&at);
}

const EncoderKind& choose_encoder(const std::string& name, const std::string& path) {
  const auto kind = std::ranges::find_if(kinds, [&](const EncoderKind& each) {
    return name.empty() ? !each.hardware && avcodec_find_encoder_by_name(each.name)
                        : each.name == name;
  });
  if (kind == kinds.end()) {
    refuse(path,
           name.empty() ? std::string("FFmpeg's libraries here have no software encoder for video")
                        : fmt::format("there is no video encoder '{}'", name),
           fmt::format("those that work here: {}", working_encoders()));
  }
  if (const auto why = why_closed(*kind)) {
    refuse(path, fmt::format("the encoder {} does not work here: {}", name, *why),
           fmt::format("those that work here: {}", working_encoders()));
  }
  return *kind;
}

std::vector<PixelFormat> formats_of(const EncoderKind& kind) {
  const AVCodec* const codec = avcodec_find_encoder_by_name(kind.name);
  std::vector<PixelFormat> formats;
  for (const NamedFormat& format : video_formats) {
    for (const AVPixelFormat* at = codec->pix_fmts; at && *at != AV_PIX_FMT_NONE; ++at) {
      if (*at == format.theirs) formats.push_back(format.ours);
    }
  }
  return formats;
}

void expect_settings(const EncoderKind& kind, const EncoderSettings& settings,
                     const std::string& path) {
  if (settings.quality && (*settings.quality < kind.best || *settings.quality > kind.worst)) {
    refuse(path, fmt::format("{} has no quality {}", kind.name, *settings.quality),
           fmt::format("choose {} (best) to {}; usual is {}", kind.best, kind.worst, kind.usual));
  }
  if (!settings.preset.empty() && std::ranges::count(kind.presets, settings.preset) == 0) {
    refuse(path, fmt::format("{} has no preset '{}'", kind.name, settings.preset),
           fmt::format("choose one of {}", fmt::join(kind.presets, ", ")));
  }
}

OpenEncoder open_encoder(const EncoderKind& kind, const EncoderSettings& settings,
                         const FrameFormat& format, const std::string& path) {
  OpenEncoder encoder = prepare(kind, settings, format);
  const LogCapture log;
  const int code = avcodec_open2(encoder.get(), encoder->codec, nullptr);
  if (code == AVERROR(ENOMEM)) throw OutOfMemory(format.size(), "a video encoder");
  if (code < 0) {
    refuse(path,
           fmt::format("{} does not take {} frames of {} x {}: {}", kind.name,
                       name_of(format.pixels), format.width, format.height, log.or_words_of(code)),
           "choose another size, encoder or sink");
  }
  return encoder;
}

ColorTags color_tags(const FrameFormat& format) noexcept {
  const bool bt709 = format.matrix == ColorMatrix::bt709;
  return {.primaries = bt709 ? AVCOL_PRI_BT709 : AVCOL_PRI_SMPTE170M,
          .transfer = bt709 ? AVCOL_TRC_BT709 : AVCOL_TRC_SMPTE170M,
          .matrix = bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M,
          .range = format.range == ColorRange::limited ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG,
          .chroma = is_subsampled(format.pixels) ? AVCHROMA_LOC_LEFT : AVCHROMA_LOC_UNSPECIFIED};
}

}  // namespace offramp::encoding
#endif
