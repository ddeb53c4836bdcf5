// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/video_sink.hpp"

#include "core/checks.hpp"
#include "transport/video/encoder.hpp"
#include "transport/video/encoder_log.hpp"
#include "transport/video/muxer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/imgutils.h>
}

namespace offramp {
namespace {

using encoding::EncoderKind;
using encoding::LogCapture;
using encoding::Muxer;

struct FreePicture {
  void operator()(AVFrame* at) const noexcept { av_frame_free(&at); }
  void operator()(AVPacket* at) const noexcept { av_packet_free(&at); }
};

class VideoSink final : public FrameSink {
 public:
  VideoSink(FrameTarget target, const FrameSinkOptions& options)
      : target_(std::move(target)),
        container_(options.format.empty() ? (target_.path.ends_with(".mkv") ? "mkv" : "mp4")
                                          : options.format),
        settings_{.quality = options.quality, .preset = options.preset, .threads = options.threads},
        kind_(encoding::choose_encoder(options.encoder, target_.path)),
        formats_(encoding::formats_of(kind_)) {
    encoding::expect_settings(kind_, settings_, target_.path);
    if (!Muxer::takes(container_, *avcodec_find_encoder_by_name(kind_.name))) {
      refuse(fmt::format("{} cannot hold what {} makes", container_, kind_.name),
             "choose another encoder or container");
    }
  }

  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override { return formats_; }

  void begin(const FrameFormat& format) override {
    OFFRAMP_EXPECTS(!encoder_, "a sink begins once");
    expect_format(formats_, format, target_.path, kind_.name);
    expect_even(format);
    format_ = format;
    encoder_ = encoding::open_encoder(kind_, settings_, format, target_.path);
    packet_.reset(av_packet_alloc());
    frame_.reset(av_frame_alloc());
    if (!packet_ || !frame_) throw OutOfMemory(format.size(), "a video frame");
    frame_->format = encoder_->pix_fmt;
    frame_->width = encoder_->width;
    frame_->height = encoder_->height;
    const encoding::ColorTags tags = encoding::color_tags(format);
    frame_->color_primaries = tags.primaries;
    frame_->color_trc = tags.transfer;
    frame_->colorspace = tags.matrix;
    frame_->color_range = tags.range;
    frame_->chroma_location = tags.chroma;
    if (av_frame_get_buffer(frame_.get(), 0) < 0) throw OutOfMemory(format.size(), "a video frame");
    muxer_.emplace(target_.open(), container_, *encoder_);
  }

  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    OFFRAMP_EXPECTS(muxer_ && number == written_, "frames come in order, after begin");
    OFFRAMP_EXPECTS(bytes.size() == format_.size(), "a frame has the size of its format");
    guard(fmt::format("frame {}", number), [&] {
      fill(bytes);
      frame_->pts = static_cast<std::int64_t>(number);
      send(frame_.get());
    });
    ++written_;
  }

  void finish() override {
    OFFRAMP_EXPECTS(muxer_, "finish comes once, after begin");
    if (written_ == 0) {
      refuse("a video without a frame", "send at least one, or choose raw or npy, which hold none");
    }
    guard(fmt::format("the last frames, up to frame {}", written_ - 1), [&] { complete(); });
    muxer_->commit();
    close();
  }

  void keep_partial() noexcept override {
    if (!muxer_) return;
    try {
      // An encoder or a disk that has failed is not asked again.
      if (!failed_ && written_ > 0) complete();
    } catch (...) {  // what is whole is kept
    }
    partial_ = muxer_->leave();
    close();
  }

  [[nodiscard]] std::string partial_path() const override { return partial_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override {
    return muxer_ ? muxer_->bytes() : bytes_;
  }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return packets_; }

 private:
  [[noreturn]] void refuse(std::string what, std::string remedy) const {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = std::move(what),
                     .path = target_.path,
                     .remedy = std::move(remedy)});
  }

  void expect_even(const FrameFormat& format) const {
    if (!is_subsampled(format.pixels) || (format.width % 2 == 0 && format.height % 2 == 0)) return;
    refuse(fmt::format("{} in a video needs an even width and height, not {} x {}",
                       name_of(format.pixels), format.width, format.height),
           "pad or crop the frames (--odd pad, --odd crop), choose a format of 4:4:4 (yuv444p), or "
           "another kind of file (y4m, png, npy)");
  }

  // Runs `step`; what it throws says where it was, and the sink has failed.
  template <class Step>
  void guard(const std::string& where, Step step) {
    try {
      step();
    } catch (const IoError& error) {
      failed_ = true;
      throw IoError(fmt::format("write {}", where), error.error().path, error.errno_value(),
                    error.error().remedy);
    } catch (const MachineError& error) {
      failed_ = true;
      Error said = error.error();
      said.what += fmt::format(" (at {})", where);
      throw MachineError(std::move(said));
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  // The encoder may keep the picture for a while: then it is given another one.
  void fill(std::span<const std::byte> bytes) {
    if (av_frame_make_writable(frame_.get()) < 0) throw OutOfMemory(bytes.size(), "a video frame");
    std::uint8_t* planes[4]{};
    int row_sizes[4]{};
    av_image_fill_arrays(planes, row_sizes, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                         encoder_->pix_fmt, frame_->width, frame_->height, 1);
    av_image_copy(frame_->data, frame_->linesize, const_cast<const std::uint8_t**>(planes),
                  row_sizes, encoder_->pix_fmt, frame_->width, frame_->height);
  }

  // Sends a picture, or nothing to drain it, and takes whatever the encoder has done.
  void send(const AVFrame* frame) {
    const LogCapture log;
    int code = avcodec_send_frame(encoder_.get(), frame);
    while (code >= 0) {
      code = avcodec_receive_packet(encoder_.get(), packet_.get());
      if (code < 0) break;
      // Frames are evenly spaced, so the times of decoding are known. The encoder's own are not to
      // be relied on: x265 (3.5) makes them up where there are fewer frames than it reorders.
      packet_->dts =
          static_cast<std::int64_t>(packets_) - std::max(encoder_->has_b_frames, kind_.reorders);
      muxer_->write(*packet_);
      ++packets_;
    }
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    if (code == AVERROR(ENOMEM)) throw OutOfMemory(format_.size(), "a video encoder");
    throw MachineError({.code = ErrorCode::io,
                        .what = fmt::format("{} failed: {}", kind_.name, log.or_words_of(code)),
                        .path = target_.path,
                        .remedy = "try other settings or another encoder"});
  }

  void complete() {
    if (std::exchange(completed_, true)) return;
    send(nullptr);
    muxer_->end();
  }

  void close() noexcept {
    bytes_ = muxer_->bytes();
    muxer_.reset();
    encoder_.reset();
  }

  FrameTarget target_;
  std::string container_;
  encoding::EncoderSettings settings_;
  const EncoderKind& kind_;
  std::vector<PixelFormat> formats_;
  FrameFormat format_{};
  encoding::OpenEncoder encoder_{};
  std::unique_ptr<AVFrame, FreePicture> frame_{};
  std::unique_ptr<AVPacket, FreePicture> packet_{};
  std::optional<Muxer> muxer_{};
  bool completed_{};
  bool failed_{};
  std::string partial_{};
  std::uint64_t written_{};
  std::uint64_t packets_{};
  std::uint64_t bytes_{};
};

}  // namespace

std::unique_ptr<FrameSink> make_video_sink(FrameTarget target, const FrameSinkOptions& options) {
  return std::make_unique<VideoSink>(std::move(target), options);
}

}  // namespace offramp
#endif
