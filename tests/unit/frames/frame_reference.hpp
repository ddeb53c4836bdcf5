// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/frames/frame_view.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace offramp::testing_frames {

/// The codes of all frames before they are rounded, in the order of the output: in double precision
/// and by the formulas of the recommendations, not by those of the library.
[[nodiscard]] std::vector<double> reference_codes(const FrameView& view, const FrameFormat& format);

/// A frame's or frames' samples.
[[nodiscard]] std::vector<std::uint32_t> codes_of(std::span<const std::byte> frames,
                                                  PixelFormat pixels);

/// Checks that every code is the nearest one to the reference, but for what float32 may add to a
/// code that lies midway.
void expect_near(std::span<const std::byte> frames, const std::vector<double>& reference,
                 PixelFormat pixels);

}  // namespace offramp::testing_frames
