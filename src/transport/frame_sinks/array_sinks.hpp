// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace offramp {

/// One array of shape [frames, height, width, channels] (no last axis for gray), u8 or u16. The
/// number of frames is mended in the header at the end, unless it was told before and was right.
[[nodiscard]] std::unique_ptr<FrameSink> make_npy_frame_sink(FrameTarget target);
[[nodiscard]] std::unique_ptr<FrameSink> make_safetensors_frame_sink(FrameTarget target);

}  // namespace offramp
