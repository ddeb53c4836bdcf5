// SPDX-License-Identifier: Apache-2.0
// FFmpeg's objects with owners, and its errors in our words: what the readers of videos and
// pictures share.
#pragma once

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

namespace offramp::decoding {

struct Release {
  void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

/// What an allocating call of FFmpeg returned. @throws OutOfMemory for nothing.
template <class T>
[[nodiscard]] Owned<T> own(T* made) {
  if (!made) throw OutOfMemory(0, "decoding");
  return Owned<T>(made);
}

[[nodiscard]] inline std::string words_of(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof(text));
  return text;
}

/// What a failed call means: the system, or the file's bytes. These too where there was no memory:
/// sizes that a file states are what FFmpeg asks for.
[[noreturn]] inline void throw_av(int code, std::string_view what, std::string_view path) {
  for (const int system : {EIO, ENOENT, EACCES, EISDIR, ENOTDIR, ELOOP, ENAMETOOLONG, EMFILE}) {
    if (code == AVERROR(system)) throw IoError("read", path, system);
  }
  throw DataError({.code = ErrorCode::corrupt_payload,
                   .what = fmt::format("{}: {}", what, words_of(code)),
                   .path = std::string(path),
                   .remedy = "check the file with ffprobe"});
}

}  // namespace offramp::decoding
