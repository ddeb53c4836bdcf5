// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <offramp/transport/frame_transport.hpp>

#include <memory>

namespace offramp {

/// A video file through FFmpeg's encoders, in mp4 or mkv, by the target's extension or
/// `options.format`. The encoder is opened by `begin`, before anything is written.
///
/// The file is made of pieces of half a second that are each complete on their own. So a killed job
/// leaves a file beside the target that plays up to the last whole piece: what is lost is less than
/// a piece, and what the encoder holds to look ahead (libx264: 40 frames and one a thread, with
/// "veryfast" 10; the others alike). Key frames come where the encoder puts them.
/// @throws DataError where this build has no FFmpeg, or no such encoder, with those that work here.
[[nodiscard]] std::unique_ptr<FrameSink> make_video_sink(FrameTarget target,
                                                         const FrameSinkOptions& options);

}  // namespace offramp
