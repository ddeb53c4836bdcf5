// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/frame_source.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <memory>
#include <string>

namespace offramp {

/// Frames of the best video track of a file, through FFmpeg, at an even rate: where the file's
/// times leave a gap of up to ten seconds a frame is repeated, and of two that fall on one time the
/// first goes. With `options.rate` each frame comes once and the times are not looked at.
/// @throws IoError; DataError for a file without frames that can be decoded.
[[nodiscard]] std::unique_ptr<FrameSource> open_video_source(const std::string& path,
                                                             const FrameSourceOptions& options);

/// Pictures of equal size, in the order of their names: of a folder, or of a pattern with one
/// number field such as in_%04d.png, from the lowest number on to the first that is not there.
[[nodiscard]] std::unique_ptr<FrameSource> open_image_source(const std::string& path,
                                                             const FrameSourceOptions& options);

/// `from`, scaled and converted as the options say; `from` itself where nothing is to do.
[[nodiscard]] std::unique_ptr<FrameSource> make_scaled_source(std::unique_ptr<FrameSource> from,
                                                              const FrameSourceOptions& options);

}  // namespace offramp
