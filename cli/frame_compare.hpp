// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "frame_job.hpp"

namespace offramp::cli {

/// Does the job both ways in turns, and alone what makes its frames; prints times, spread and where
/// the ideal lies. @returns the exit code.
[[nodiscard]] int compare_ways(FrameJob job, FrameExtras extras, const Context& context);

}  // namespace offramp::cli
