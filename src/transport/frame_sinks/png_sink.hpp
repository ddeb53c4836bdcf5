// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <memory>
#include <optional>

namespace offramp {

/// One picture a frame. The path is a pattern with one number field ("out/frame_%05d.png"), or a
/// folder ("out/" or one that exists), which then holds "frame_000000.png" and so on; a plain name
/// ("shot.png") takes one frame. Each file is whole or not there: it is written beside its name.
/// `level` is zlib's, 0 to 9; none: 1. @throws DataError where this build has no libpng.
[[nodiscard]] std::unique_ptr<FrameSink> make_png_sink(FrameTarget target,
                                                       std::optional<int> level);

}  // namespace offramp
