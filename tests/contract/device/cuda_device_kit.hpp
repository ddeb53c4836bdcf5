// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA device share.
#pragma once

#include "contract/device_kit.hpp"
#include "device/cuda/cuda_device.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/core/event.hpp>
#include <offramp/device/host_slab.hpp>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace offramp::testing_device {

/// GPU number `ordinal`, or nullptr on a machine without it.
template <int ordinal>
Device* gpu() {
  return ordinal < driver_facts().devices ? &cuda_device(ordinal) : nullptr;
}

/// On the first GPU; skipped, with the reason, where there is none.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu<0>()) GTEST_SKIP() << absent_devices();
  }

  Device& device() { return *gpu<0>(); }

  /// As the driver has it.
  std::size_t free_memory() {
    const ContextGuard guard(cuda_device(0).context());
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  }
};

}  // namespace offramp::testing_device
