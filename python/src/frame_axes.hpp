// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "held_array.hpp"

#include <offramp/frames/frame_view.hpp>

#include <optional>
#include <span>
#include <string>

namespace offramp::python {

/// What the axes of such frames are, where it can be told: "nhwc", "nchw", "cnhw", "hwc", "chw",
/// "nhw" or "hw". Of five axes the first one, a batch of one video, is left out.
/// @throws nb::value_error where it cannot, with what they might be.
[[nodiscard]] std::string guess_axes(std::span<const std::uint64_t> shape);

/// The array as frames. A first axis more than named, of extent 1, is left out.
/// @throws nb::value_error.
[[nodiscard]] FrameView frames_of(const HeldArray& array, const std::string& axes,
                                  std::optional<ValueRange> range);

}  // namespace offramp::python
