// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>
#include <offramp/device/device.hpp>
#include <offramp/frames/frame_view.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <cstddef>

namespace offramp {

/// Checks that frames of this view can become frames of this format: dtype, range, equal width and
/// height, at least as many channels as the format has (a fourth is dropped where the format has no
/// alpha; one becomes gray of RGB). @throws LogicError that says what does not fit.
void expect_convertible(const FrameView& from, const FrameFormat& to);

/// Converts `from.frames` frames into `to`, one after the other, `format.size()` bytes each, when
/// the stream gets there: clamps, scales, rounds to nearest even, and for Y'CbCr converts and
/// subsamples (src/frames/spec.md has every step; all devices make the same bytes). Allocates
/// nothing, does not block.
///
/// `from` must live, unchanged, and `to` must not be read until the stream has got past this. On a
/// CUDA device both are memory that it reaches; one kernel does it all.
/// @throws LogicError as expect_convertible; MachineError where the device fails.
void convert_async(Device& device, StreamRef stream, const FrameView& from,
                   const FrameFormat& format, std::byte* to);

/// The same at once, in the caller's thread, on host memory.
void convert(const FrameView& from, const FrameFormat& format, std::byte* to);

}  // namespace offramp
