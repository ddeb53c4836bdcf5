// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <memory>
#include <optional>

namespace offramp {

/// One picture a frame, at the places that PictureFiles makes of the target. Coding is done by the
/// threads that call `encode`. `level` is zlib's, 0 to 9; none: 1.
/// @throws DataError where this build has no libpng.
[[nodiscard]] std::unique_ptr<FrameSink> make_png_sink(FrameTarget target,
                                                       std::optional<int> level);

}  // namespace offramp
