// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/muxer.hpp"

#include "transport/video/encoder_log.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp::encoding {
namespace {

constexpr std::int64_t most_piece_frames = 32;

const AVOutputFormat* format_named(std::string_view container) {
  return av_guess_format(container == "mkv" ? "matroska" : "mp4", nullptr, nullptr);
}

}  // namespace

bool Muxer::takes(std::string_view container, const AVCodec& codec) {
  const AVOutputFormat* const format = format_named(container);
  return format && avformat_query_codec(format, codec.id, FF_COMPLIANCE_NORMAL) == 1;
}

Muxer::Muxer(OutputFile file, std::string_view container, const AVCodecContext& encoder)
    : io_(std::move(file)), frame_time_(encoder.time_base) {
  const LogCapture log;
  AVFormatContext* made = nullptr;
  avformat_alloc_output_context2(&made, format_named(container), nullptr, nullptr);
  muxer_.reset(made);
  stream_ = made ? avformat_new_stream(made, nullptr) : nullptr;
  if (!stream_) throw OutOfMemory(sizeof(AVFormatContext), "a video file");
  stream_->time_base = encoder.time_base;
  stream_->avg_frame_rate = encoder.framerate;
  stream_->sample_aspect_ratio = encoder.sample_aspect_ratio;
  check(avcodec_parameters_from_context(stream_->codecpar, &encoder), "describe the stream", {});
  // Apple's players take HEVC under this name alone.
  if (encoder.codec_id == AV_CODEC_ID_HEVC && container == "mp4") {
    stream_->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
  }
  piece_frames_ = std::clamp<std::int64_t>(
      encoder.framerate.num / (2 * std::int64_t{encoder.framerate.den}), 1, most_piece_frames);

  muxer_->pb = io_.context();
  // The same frames make the same bytes: no random numbers in the file.
  muxer_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  AVDictionary* settings = nullptr;
  if (container == "mp4") {
    // Pieces end where this says. The front is written with the first, whose times it then knows:
    // else a player would show nothing for as long as pictures are reordered.
    av_dict_set(&settings, "movflags", "frag_custom+delay_moov+default_base_moof", 0);
  }
  const int begun = avformat_write_header(muxer_.get(), &settings);
  av_dict_free(&settings);
  check(begun, "begin the file", log.or_words_of(begun));
}

void Muxer::write(AVPacket& packet) {
  const LogCapture log;
  if (in_piece_ == piece_frames_) end_piece();
  packet.stream_index = stream_->index;
  packet.duration = 1;
  av_packet_rescale_ts(&packet, frame_time_, stream_->time_base);
  const int code = av_write_frame(muxer_.get(), &packet);
  av_packet_unref(&packet);
  check(code, "write the file", log.or_words_of(code));
  ++in_piece_;
}

void Muxer::end_piece() {
  const LogCapture log;
  int code = av_write_frame(muxer_.get(), nullptr);
  // The first time, mp4 writes its front alone.
  if (code >= 0 && whole_ == 0) code = av_write_frame(muxer_.get(), nullptr);
  avio_flush(muxer_->pb);
  check(code, "write the file", log.or_words_of(code));
  whole_ = io_.file().size();
  in_piece_ = 0;
}

void Muxer::end() {
  const LogCapture log;
  const int code = av_write_trailer(muxer_.get());
  avio_flush(muxer_->pb);
  check(code, "end the file", log.or_words_of(code));
  whole_ = io_.file().size();
}

std::string Muxer::leave() noexcept {
  if (whole_ == 0) return {};
  try {
    io_.file().truncate(whole_);
  } catch (...) {  // players stop where it ends
  }
  return io_.file().leave();
}

void Muxer::check(int code, std::string_view action, const std::string& words) {
  io_.rethrow();  // the system's own error says more
  if (code >= 0) return;
  if (code == AVERROR(ENOMEM)) throw OutOfMemory(0, "a video file");
  throw MachineError({.code = ErrorCode::io,
                      .what = fmt::format("FFmpeg cannot {}: {}", action, words),
                      .path = io_.file().path(),
                      .remedy = "try another container or encoder"});
}

}  // namespace offramp::encoding
#endif
