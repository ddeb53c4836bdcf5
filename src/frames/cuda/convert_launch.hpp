// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frames/convert_plan.hpp"

#include <cuda_runtime_api.h>

namespace offramp::frames::gpu {

/// One kernel over all frames.
[[nodiscard]] cudaError_t launch_convert(const ConvertPlan& plan, cudaStream_t stream) noexcept;

/// Loads the kernels on the current device.
[[nodiscard]] cudaError_t load_convert() noexcept;

}  // namespace offramp::frames::gpu
