// SPDX-License-Identifier: Apache-2.0
#if OFFRAMP_HAS_FFMPEG
#include "transport/video/video_source.hpp"

#include "core/checks.hpp"
#include "transport/frame_input.hpp"
#include "transport/video/encoder_log.hpp"
#include "transport/video/input_io.hpp"
#include "transport/video/scaler.hpp"
#include "transport/y4m/y4m_source.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

extern "C" {
#include <libavutil/common.h>
#include <libavutil/log.h>
}

namespace offramp {
namespace {

using namespace decoding;

constexpr std::uint64_t longest_gap_s = 10;

class VideoSource final : public FrameSource {
 public:
  VideoSource(const std::string& path, const FrameSourceOptions& options);

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override { return count_; }
  [[nodiscard]] bool read(std::span<std::byte> frame) override;

 private:
  void open(const std::string& path, const std::stop_token& cancel);
  /// Of a call of FFmpeg; says what a pipe threw in it. @throws that, or for a negative code.
  void check_read(int code, std::string_view what);
  void open_decoder(std::size_t threads);
  void choose_format(const FrameSourceOptions& options);
  /// Decodes the next picture into `next_`. @returns false at the end.
  [[nodiscard]] bool decode();
  void feed();
  [[nodiscard]] bool advance();
  /// The place in the even sequence that the picture's time falls on.
  [[nodiscard]] std::uint64_t place_of(const AVFrame& picture);

  std::string path_;
  std::optional<InputIo> pipe_{};  // where the path is one; outlives the file
  Owned<AVFormatContext> file_{};
  Owned<AVCodecContext> decoder_{};
  Owned<AVPacket> packet_ = own(av_packet_alloc());
  Owned<AVFrame> next_ = own(av_frame_alloc());  // decoded ahead
  Owned<AVFrame> shown_ = own(av_frame_alloc());
  AVStream* stream_{};
  std::optional<Scaler> scaler_{};
  FrameFormat format_{};
  ColorTags tags_{};
  std::optional<std::uint64_t> count_{};
  bool follows_times_{true};
  bool has_next_{};
  bool ended_{};       // of the file: the decoder drains
  std::string cut_{};  // what the file's reader complained of there
  // Places in the even sequence: of the two pictures, and of the frame that is read next.
  std::uint64_t next_place_{0};
  std::uint64_t shown_place_{0};
  std::uint64_t place_{0};
  std::uint64_t decoded_{0};  // for messages
  std::optional<std::int64_t> first_time_{};
  std::int64_t skipped_{0};  // places that gaps too long would have had
};

VideoSource::VideoSource(const std::string& path, const FrameSourceOptions& options) : path_(path) {
  av_log_set_level(AV_LOG_QUIET);  // what matters is thrown
  open(path, options.cancel);
  open_decoder(options.threads);
  has_next_ = decode();
  if (!has_next_) {
    throw DataError({.code = ErrorCode::corrupt_payload,
                     .what = "holds no frame that can be decoded",
                     .path = path_,
                     .remedy = "check the file with ffprobe"});
  }
  choose_format(options);
  next_place_ = place_of(*next_);
}

void VideoSource::check_read(int code, std::string_view what) {
  if (pipe_) pipe_->rethrow();
  if (code < 0) throw_av(code, what, path_);
}

void VideoSource::open(const std::string& path, const std::stop_token& cancel) {
  constexpr std::string_view is_none = "is no video that FFmpeg reads";
  AVFormatContext* context = nullptr;
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::fifo) {
    pipe_.emplace(FrameInput(path, cancel));
    context = avformat_alloc_context();
    if (!context) throw OutOfMemory(0, "reading a video");
    context->pb = pipe_->context();
  }
  // As a file, whatever its name looks like, and nothing that it refers to from elsewhere.
  AVDictionary* settings = nullptr;
  av_dict_set(&settings, "protocol_whitelist", "file", 0);
  const int code = avformat_open_input(&context, ("file:" + path).c_str(), nullptr, &settings);
  av_dict_free(&settings);
  if (code >= 0) file_.reset(context);
  check_read(code, is_none);
  check_read(avformat_find_stream_info(file_.get(), nullptr), is_none);
}

void VideoSource::open_decoder(std::size_t threads) {
  const AVCodec* codec = nullptr;
  const int index = av_find_best_stream(file_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  if (index < 0 || !codec) {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = "has no video track that can be decoded",
                     .path = path_,
                     .remedy = "check the file with ffprobe"});
  }
  stream_ = file_->streams[index];
  for (unsigned other = 0; other < file_->nb_streams; ++other) {
    if (file_->streams[other] != stream_) file_->streams[other]->discard = AVDISCARD_ALL;
  }
  decoder_ = own(avcodec_alloc_context3(codec));
  if (const int code = avcodec_parameters_to_context(decoder_.get(), stream_->codecpar); code < 0)
    throw_av(code, "has a video track with parameters that contradict each other", path_);
  decoder_->pkt_timebase = stream_->time_base;
  decoder_->thread_count = static_cast<int>(threads);
  decoder_->err_recognition = AV_EF_EXPLODE;
  decoder_->max_pixels = static_cast<std::int64_t>(largest_frame_size / 4);
  if (const int code = avcodec_open2(decoder_.get(), codec, nullptr); code < 0)
    throw_av(code, "the decoder does not start", path_);
}

void VideoSource::choose_format(const FrameSourceOptions& options) {
  const AVFrame& picture = *next_;
  format_.width = options.width.value_or(static_cast<std::uint32_t>(picture.width));
  format_.height = options.height.value_or(static_cast<std::uint32_t>(picture.height));
  const auto from = static_cast<AVPixelFormat>(picture.format);
  format_.pixels = options.pixels ? *options.pixels : nearest_format(from, options.accepts);
  tags_ = {
      .matrix = options.matrix.value_or(usual_matrix(static_cast<std::uint32_t>(picture.width),
                                                     static_cast<std::uint32_t>(picture.height))),
      .range = options.range.value_or(ColorRange::limited)};
  const ColorTags tags = color_tags(picture, tags_);
  format_.matrix = tags.matrix;
  format_.range = tags.range;
  if (format_.size() > largest_frame_size) {
    throw DataError(
        {.code = ErrorCode::limit_exceeded,
         .what = fmt::format("frames of {}x{} are too large", format_.width, format_.height),
         .path = path_,
         .remedy = {}});
  }
  const AVRational rate = av_guess_frame_rate(file_.get(), stream_, nullptr);
  if (options.rate) {
    format_.rate = *options.rate;
    follows_times_ = false;
  } else if (rate.num > 0 && rate.den > 0) {
    format_.rate = {static_cast<std::uint32_t>(rate.num), static_cast<std::uint32_t>(rate.den)};
  }
  if (stream_->nb_frames > 0) count_ = static_cast<std::uint64_t>(stream_->nb_frames);
  scaler_.emplace(format_, options.threads);
}

void VideoSource::feed() {
  while (!ended_) {
    const encoding::LogCapture log;
    const int code = av_read_frame(file_.get(), packet_.get());
    check_read(0, {});
    if (code == AVERROR_EOF) {
      ended_ = true;
      // Of a file that is cut, some readers say so and end as if it were whole.
      if (log.heard()) cut_ = log.or_words_of(code);
      avcodec_send_packet(decoder_.get(), nullptr);
      return;
    }
    if (code < 0) throw_av(code, fmt::format("cannot be read behind frame {}", decoded_), path_);
    if (packet_->stream_index != stream_->index) {
      av_packet_unref(packet_.get());
      continue;
    }
    const int sent = avcodec_send_packet(decoder_.get(), packet_.get());
    av_packet_unref(packet_.get());
    if (sent < 0)
      throw_av(sent, fmt::format("what comes behind frame {} does not decode", decoded_), path_);
    return;
  }
}

bool VideoSource::decode() {
  for (;;) {
    const int code = avcodec_receive_frame(decoder_.get(), next_.get());
    if (code == AVERROR_EOF) return false;
    if (code == AVERROR(EAGAIN)) {
      feed();
      continue;
    }
    if (code < 0) throw_av(code, fmt::format("frame {} does not decode", decoded_), path_);
    if (next_->decode_error_flags != 0 || (next_->flags & AV_FRAME_FLAG_CORRUPT) != 0)
      throw_av(AVERROR_INVALIDDATA, fmt::format("frame {} is damaged", decoded_), path_);
    ++decoded_;
    return true;
  }
}

std::uint64_t VideoSource::place_of(const AVFrame& picture) {
  const std::uint64_t expected = decoded_ == 1 ? 0 : next_place_ + 1;
  const std::int64_t time = picture.best_effort_timestamp;
  if (!follows_times_ || time == AV_NOPTS_VALUE) return expected;
  if (!first_time_) first_time_ = time;
  const AVRational tick{static_cast<int>(format_.rate.den), static_cast<int>(format_.rate.num)};
  const std::int64_t since = av_sat_sub64(time, *first_time_);
  const std::int64_t at =
      av_sat_sub64(av_rescale_q_rnd(since, stream_->time_base, tick, AV_ROUND_NEAR_INF), skipped_);
  const std::int64_t late = av_sat_sub64(at, static_cast<std::int64_t>(expected));
  const auto longest =
      static_cast<std::int64_t>(longest_gap_s * format_.rate.num / format_.rate.den);
  // A clock that jumps is no still picture: go on from here.
  if (late > longest + 1 || late < -longest - 1) {
    skipped_ = av_sat_add64(skipped_, late);
    return expected;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(at, 0));
}

bool VideoSource::advance() {
  has_next_ = decode();
  if (has_next_) next_place_ = place_of(*next_);
  return has_next_;
}

bool VideoSource::read(std::span<std::byte> frame) {
  OFFRAMP_EXPECTS(frame.size() == format_.size(), "a frame is read into room for one");
  // Shown is the last picture whose time has come; behind the last one's there is nothing.
  while (has_next_ && next_place_ <= place_) {
    av_frame_unref(shown_.get());
    av_frame_move_ref(shown_.get(), next_.get());
    shown_place_ = next_place_;
    static_cast<void>(advance());
  }
  if (!has_next_ && place_ > shown_place_) {
    if (cut_.empty()) return false;
    throw DataError(
        {.code = ErrorCode::truncated,
         .what = fmt::format("is not whole, and ends behind frame {}: {}", place_ - 1, cut_),
         .path = path_,
         .remedy = "the frames before it are whole"});
  }
  scaler_->put(*shown_, color_tags(*shown_, tags_), frame);
  ++place_;
  return true;
}

}  // namespace

std::unique_ptr<FrameSource> open_video_source(const std::string& path,
                                               const FrameSourceOptions& options) {
  return std::make_unique<VideoSource>(path, options);
}

}  // namespace offramp
#endif
