// SPDX-License-Identifier: Apache-2.0
#include "contract/device/cuda_device_trap.hpp"

namespace offramp::testing_device {
namespace {

__global__ void trap() { __trap(); }

}  // namespace

void launch_trap(cudaStream_t stream) { trap<<<1, 1, 0, stream>>>(); }

}  // namespace offramp::testing_device
