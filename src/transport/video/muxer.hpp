// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/video/output_io.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace offramp::encoding {

struct FreeMuxer {
  void operator()(AVFormatContext* at) const noexcept { avformat_free_context(at); }
};

/// The pictures of one open encoder in an mp4 or mkv file, in pieces that are each complete on
/// their own: what a killed process leaves plays up to the last of them.
///
/// A piece (mp4's fragment, mkv's cluster) is half a second, or 32 pictures where that is less. It
/// does not need to begin with a key frame, so these may be farther apart.
class Muxer {
 public:
  /// Whether the container ("mp4", "mkv") has a place for what the encoder makes.
  [[nodiscard]] static bool takes(std::string_view container, const AVCodec& codec);

  /// @throws IoError; MachineError where FFmpeg fails, with what it says.
  Muxer(OutputFile file, std::string_view container, const AVCodecContext& encoder);

  /// Takes a packet whose times count frames, and leaves it empty.
  void write(AVPacket& packet);

  /// Completes the file; then `commit` gives it its name.
  void end();
  void commit() { io_.file().commit(); }

  /// Instead: cuts what is behind the last whole piece, and leaves the rest as OutputFile does.
  [[nodiscard]] std::string leave() noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return io_.file().size(); }

 private:
  void check(int code, std::string_view action, const std::string& words);
  void end_piece();

  OutputIo io_;  // outlives the muxer, which writes to it
  std::unique_ptr<AVFormatContext, FreeMuxer> muxer_{};
  AVStream* stream_{};
  AVRational frame_time_{};
  std::int64_t piece_frames_{1};
  std::int64_t in_piece_{};
  std::uint64_t whole_{};  // bytes of the file that are whole pieces
};

}  // namespace offramp::encoding
