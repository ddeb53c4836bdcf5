// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/video_sink.hpp"

#include "core/checks.hpp"
#include "transport/video/encoder_log.hpp"
#include "transport/video/output_io.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace offramp {
namespace {

// What a killed job loses at most, besides what is inside the encoder.
constexpr std::string_view fragment_us = "500000";

constexpr std::array usual_encoders{"libx264", "libx265", "libsvtav1"};
constexpr std::array known_encoders{"libx264",    "libx265",   "libsvtav1",  "h264_nvenc",
                                    "hevc_nvenc", "av1_nvenc", "h264_vaapi", "hevc_vaapi",
                                    "h264_qsv",   "hevc_qsv",  "ffv1"};

struct NamedFormat {
  PixelFormat ours;
  AVPixelFormat theirs;
};
constexpr std::array formats_of_video{NamedFormat{PixelFormat::yuv420p, AV_PIX_FMT_YUV420P},
                                      NamedFormat{PixelFormat::yuv420p10, AV_PIX_FMT_YUV420P10LE},
                                      NamedFormat{PixelFormat::yuv444p, AV_PIX_FMT_YUV444P},
                                      NamedFormat{PixelFormat::yuv444p10, AV_PIX_FMT_YUV444P10LE},
                                      NamedFormat{PixelFormat::gray8, AV_PIX_FMT_GRAY8}};

struct Free {
  void operator()(AVCodecContext* at) const noexcept { avcodec_free_context(&at); }
  void operator()(AVFormatContext* at) const noexcept { avformat_free_context(at); }
  void operator()(AVFrame* at) const noexcept { av_frame_free(&at); }
  void operator()(AVPacket* at) const noexcept { av_packet_free(&at); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

template <class T>
Owned<T> own(T* at) {
  if (!at) throw OutOfMemory(sizeof(T), "a video encoder");
  return Owned<T>(at);
}

[[noreturn]] void refuse(const std::string& path, std::string what, std::string remedy) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = std::move(what),
                   .path = path,
                   .remedy = std::move(remedy)});
}

std::string encoders_here() {
  std::vector<std::string_view> here;
  for (const char* name : known_encoders) {
    if (avcodec_find_encoder_by_name(name)) here.emplace_back(name);
  }
  return here.empty() ? "none" : fmt::format("{}", fmt::join(here, ", "));
}

const AVCodec* find_encoder(const std::string& path, const std::string& name) {
  if (!name.empty()) {
    const AVCodec* found = avcodec_find_encoder_by_name(name.c_str());
    if (found && found->type == AVMEDIA_TYPE_VIDEO) return found;
    refuse(path, fmt::format("there is no video encoder '{}' here", name),
           fmt::format("choose one of those that are: {}", encoders_here()));
  }
  for (const char* usual : usual_encoders) {
    if (const AVCodec* found = avcodec_find_encoder_by_name(usual)) return found;
  }
  refuse(path,
         "FFmpeg's libraries here have none of the usual encoders (libx264, libx265, libsvtav1)",
         fmt::format("state one of those that are here: {}", encoders_here()));
}

std::vector<PixelFormat> formats_of(const AVCodec& codec) {
  std::vector<PixelFormat> formats;
  for (const NamedFormat& format : formats_of_video) {
    for (const AVPixelFormat* at = codec.pix_fmts; at && *at != AV_PIX_FMT_NONE; ++at) {
      if (*at == format.theirs) formats.push_back(format.ours);
    }
  }
  return formats;
}

AVPixelFormat av_format_of(PixelFormat format) {
  const auto found = std::ranges::find(formats_of_video, format, &NamedFormat::ours);
  return found == formats_of_video.end() ? AV_PIX_FMT_NONE : found->theirs;
}

class VideoSink final : public FrameSink {
 public:
  VideoSink(FrameTarget target, const FrameSinkOptions& options)
      : target_(std::move(target)),
        options_(options),
        container_(options.format.empty() ? (target_.path.ends_with(".mkv") ? "mkv" : "mp4")
                                          : options.format),
        codec_(find_encoder(target_.path, options.encoder)),
        formats_(formats_of(*codec_)) {
    if (formats_.empty()) {
      refuse(target_.path,
             fmt::format("the encoder {} takes no format that frames have here", codec_->name),
             fmt::format("choose one of {}", encoders_here()));
    }
  }

  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override { return formats_; }

  void begin(const FrameFormat& format) override {
    OFFRAMP_EXPECTS(!encoder_, "a sink begins once");
    expect_format(formats_, format, target_.path, fmt::format("the encoder {}", codec_->name));
    expect_even(format);
    format_ = format;
    open_encoder();
    frame_ = own(av_frame_alloc());
    packet_ = own(av_packet_alloc());
    open_container();
  }

  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    OFFRAMP_EXPECTS(io_ && number == written_, "frames come in order, after begin");
    OFFRAMP_EXPECTS(bytes.size() == format_.size(), "a frame has the size of its format");
    write_frame(number, [&] {
      point_frame_at(bytes, number);
      send(frame_.get());
    });
    ++written_;
  }

  void finish() override {
    OFFRAMP_EXPECTS(io_, "finish comes once, after begin");
    complete();
    io_->file().commit();
    close();
  }

  void keep_partial() noexcept override {
    if (!io_) return;
    try {
      complete();
    } catch (...) {  // what is there plays up to its last fragment
    }
    if (packets_ > 0) {
      try {
        partial_ = io_->file().leave();
      } catch (...) {
      }
    }
    close();
  }

  [[nodiscard]] std::string partial_path() const override { return partial_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override {
    return io_ ? io_->file().size() : bytes_;
  }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return packets_; }

 private:
  void expect_even(const FrameFormat& format) const {
    if (!is_subsampled(format.pixels) || (format.width % 2 == 0 && format.height % 2 == 0)) return;
    refuse(target_.path,
           fmt::format("{} needs an even width and height, and the frames are {} x {}",
                       name_of(format.pixels), format.width, format.height),
           "pad or crop them by a row or column (--odd pad, --odd crop), choose a pixel format "
           "without "
           "subsampling (yuv444p), or another kind of file (png, npy)");
  }

  void open_encoder() {
    encoder_ = own(avcodec_alloc_context3(codec_));
    AVCodecContext& encoder = *encoder_;
    encoder.width = static_cast<int>(format_.width);
    encoder.height = static_cast<int>(format_.height);
    encoder.pix_fmt = av_format_of(format_.pixels);
    encoder.time_base = {static_cast<int>(format_.rate.den), static_cast<int>(format_.rate.num)};
    encoder.framerate = {static_cast<int>(format_.rate.num), static_cast<int>(format_.rate.den)};
    encoder.thread_count = static_cast<int>(options_.threads);
    // A key frame each two seconds: what players need to seek.
    encoder.gop_size = static_cast<int>(
        std::clamp<std::uint64_t>(2 * std::uint64_t{format_.rate.num} / format_.rate.den, 1, 250));
    encoder.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    tag_colors(encoder);
    if (codec_->name == std::string_view("libx265")) set("x265-params", "log-level=none");
    if (options_.quality) set_quality(*options_.quality);
    if (!options_.preset.empty()) {
      // SVT-AV1's are numbers, the others' are names; a wrong one is refused when it opens or here.
      if (av_opt_set(encoder.priv_data, "preset", options_.preset.c_str(), 0) < 0) {
        refuse(target_.path, fmt::format("{} has no preset '{}'", codec_->name, options_.preset),
               fmt::format("ffmpeg -h encoder={} lists them", codec_->name));
      }
    }
    static_cast<void>(last_av_error());
    const int opened = avcodec_open2(&encoder, codec_, nullptr);
    if (opened < 0) {
      const std::string why = last_av_error();
      refuse(target_.path,
             fmt::format("the encoder {} does not open: {}", codec_->name,
                         why.empty() ? av_words(opened) : why),
             fmt::format("try other settings or another encoder: {}", encoders_here()));
    }
  }

  void set(const char* name, const char* value) {
    static_cast<void>(av_opt_set(encoder_->priv_data, name, value, 0));
  }

  // Constant quality is called by different names; its range is the encoder's own.
  void set_quality(int quality) {
    for (const char* name : {"crf", "cq", "qp", "global_quality"}) {
      const AVOption* option = av_opt_find(encoder_->priv_data, name, nullptr, 0, 0);
      if (!option) continue;
      if (quality < option->min || quality > option->max || quality < 0 ||
          av_opt_set_double(encoder_->priv_data, name, quality, 0) < 0) {
        refuse(target_.path, fmt::format("{} has no quality {}", codec_->name, quality),
               "libx264 and libx265 take 0 (best) to 51, libsvtav1 0 to 63");
      }
      return;
    }
    refuse(target_.path, fmt::format("{} has no constant quality", codec_->name),
           "leave it out, or choose libx264, libx265 or libsvtav1");
  }

  template <class Tagged>
  void tag_colors(Tagged& to) const {
    const bool bt709 = format_.matrix == ColorMatrix::bt709;
    to.color_primaries = bt709 ? AVCOL_PRI_BT709 : AVCOL_PRI_SMPTE170M;
    to.color_trc = bt709 ? AVCOL_TRC_BT709 : AVCOL_TRC_SMPTE170M;
    to.colorspace = bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    to.color_range = is_yuv(format_.pixels) && format_.range == ColorRange::limited
                         ? AVCOL_RANGE_MPEG
                         : AVCOL_RANGE_JPEG;
    if constexpr (requires { to.chroma_sample_location; }) {
      if (is_subsampled(format_.pixels)) to.chroma_sample_location = AVCHROMA_LOC_LEFT;
    } else {
      if (is_subsampled(format_.pixels)) to.chroma_location = AVCHROMA_LOC_LEFT;
    }
  }

  void open_container() {
    AVFormatContext* made = nullptr;
    avformat_alloc_output_context2(&made, nullptr, container_ == "mkv" ? "matroska" : "mp4",
                                   nullptr);
    muxer_ = own(made);
    stream_ = avformat_new_stream(muxer_.get(), nullptr);
    if (!stream_) throw OutOfMemory(sizeof(AVStream), "a video file");
    stream_->time_base = encoder_->time_base;
    stream_->avg_frame_rate = encoder_->framerate;
    check(avcodec_parameters_from_context(stream_->codecpar, encoder_.get()),
          "describe its stream");
    // Apple's players take HEVC by this name only.
    if (codec_->id == AV_CODEC_ID_HEVC && container_ == "mp4") {
      stream_->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
    }
    io_ = std::make_unique<OutputIo>(target_.open());
    muxer_->pb = io_->context();
    muxer_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_FLUSH_PACKETS;
    AVDictionary* settings = nullptr;
    if (container_ == "mp4") {
      av_dict_set(&settings, "movflags", "frag_keyframe+empty_moov+default_base_moof", 0);
      av_dict_set(&settings, "frag_duration", fragment_us.data(), 0);
    } else {
      av_dict_set(&settings, "cluster_time_limit", "500", 0);
    }
    const int begun = avformat_write_header(muxer_.get(), &settings);
    av_dict_free(&settings);
    check(begun, "begin the file");
    header_ = true;
  }

  void point_frame_at(std::span<const std::byte> bytes, std::uint64_t number) {
    AVFrame& frame = *frame_;
    av_frame_unref(&frame);
    frame.format = encoder_->pix_fmt;
    frame.width = encoder_->width;
    frame.height = encoder_->height;
    frame.pts = static_cast<std::int64_t>(number);
    tag_colors(frame);
    // The frame owns no buffer, so the encoder copies it before it returns.
    auto* at = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    const int wide = bits_of(format_.pixels) > 8 ? 2 : 1;
    const int planes = is_yuv(format_.pixels) ? 3 : 1;
    for (int plane = 0; plane < planes; ++plane) {
      const bool half = plane > 0 && is_subsampled(format_.pixels);
      const int columns = half ? (frame.width + 1) / 2 : frame.width;
      const int rows = half ? (frame.height + 1) / 2 : frame.height;
      frame.data[plane] = at;
      frame.linesize[plane] = columns * wide;
      at += static_cast<std::ptrdiff_t>(frame.linesize[plane]) * rows;
    }
  }

  void send(const AVFrame* frame) {
    check(avcodec_send_frame(encoder_.get(), frame), "encode");
    while (true) {
      const int got = avcodec_receive_packet(encoder_.get(), packet_.get());
      if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
      check(got, "encode");
      packet_->stream_index = stream_->index;
      packet_->duration = 1;
      av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
      check(av_interleaved_write_frame(muxer_.get(), packet_.get()), "write");
      ++packets_;
    }
  }

  void complete() {
    if (completed_ || !header_) return;
    completed_ = true;  // also where it fails: an encoder is drained once
    send(nullptr);
    check(av_write_trailer(muxer_.get()), "end the file");
    avio_flush(muxer_->pb);
    io_->rethrow();
  }

  void check(int code, std::string_view action) {
    if (io_) io_->rethrow();  // the system's own error says more
    if (code >= 0) return;
    const std::string why = last_av_error();
    throw MachineError({.code = ErrorCode::io,
                        .what = fmt::format("FFmpeg ({}) cannot {}: {}", codec_->name, action,
                                            why.empty() ? av_words(code) : why),
                        .path = target_.path,
                        .remedy = {}});
  }

  void close() noexcept {
    if (io_) bytes_ = io_->file().size();
    muxer_.reset();
    encoder_.reset();
    io_.reset();
  }

  FrameTarget target_;
  FrameSinkOptions options_;
  std::string container_;
  const AVCodec* codec_;
  std::vector<PixelFormat> formats_;
  FrameFormat format_{};
  Owned<AVCodecContext> encoder_{};
  std::unique_ptr<OutputIo> io_{};  // before the muxer, which writes to it
  Owned<AVFormatContext> muxer_{};
  Owned<AVFrame> frame_{};
  Owned<AVPacket> packet_{};
  AVStream* stream_{};
  bool header_{};
  bool completed_{};
  std::string partial_{};
  std::uint64_t written_{};
  std::uint64_t packets_{};
  std::uint64_t bytes_{};
};

}  // namespace

std::unique_ptr<FrameSink> make_video_sink(FrameTarget target, const FrameSinkOptions& options) {
  take_over_av_log();
  return std::make_unique<VideoSink>(std::move(target), options);
}

}  // namespace offramp
#endif
