// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <memory>

namespace offramp {

/// Frames one after the other and nothing else.
[[nodiscard]] std::unique_ptr<FrameSink> make_raw_frame_sink(FrameTarget target);

/// YUV4MPEG2: a line of text, then for each frame "FRAME" and its planes.
[[nodiscard]] std::unique_ptr<FrameSink> make_y4m_sink(FrameTarget target);

/// Takes everything and keeps nothing.
[[nodiscard]] std::unique_ptr<FrameSink> make_null_frame_sink();

}  // namespace offramp
