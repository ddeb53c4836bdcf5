// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <offramp/transport/frame_transport.hpp>

#include <memory>

namespace offramp {

/// A video file through FFmpeg's encoders and containers, `.mp4` (fragmented: each half second is
/// complete on its own) or `.mkv`, by the target's extension or `options.format`.
///
/// A killed job leaves a file beside the target that plays up to its last fragment. The encoder is
/// opened by `begin`, before anything is written. @throws DataError where this build has no FFmpeg,
/// or no such encoder, with those that it has.
[[nodiscard]] std::unique_ptr<FrameSink> make_video_sink(FrameTarget target,
                                                         const FrameSinkOptions& options);

}  // namespace offramp
