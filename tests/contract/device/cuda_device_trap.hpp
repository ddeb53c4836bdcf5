// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace offramp::testing_device {

/// A kernel that fails, as one with a wild pointer does. It ends the process's use of the GPU.
void launch_trap(cudaStream_t stream);

}  // namespace offramp::testing_device
