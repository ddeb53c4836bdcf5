// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame_options.hpp"

#include <offramp/frames/pixel_format.hpp>
#include <offramp/transport/frame_source.hpp>

#include <memory>
#include <span>
#include <stop_token>

namespace offramp::cli {

/// The format that a generator's frames get: what was asked for, or what of `accepted` fits best.
[[nodiscard]] FrameFormat generated_format(const FrameOptions& options,
                                           std::span<const PixelFormat> accepted);

/// The source that was asked for, in a format that is one of `accepted`, with even sides where
/// --odd asks for them.
[[nodiscard]] std::unique_ptr<FrameSource> open_feed(const FrameOptions& options,
                                                     std::span<const PixelFormat> accepted,
                                                     std::stop_token cancel);

}  // namespace offramp::cli
