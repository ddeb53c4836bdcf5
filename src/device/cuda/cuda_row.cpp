// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_row.hpp"

#include "device/cuda/cuda_device.hpp"

namespace offramp {

int cuda_count() noexcept { return driver_facts().devices; }

std::string why_no_cuda() { return why_no_gpu(driver_facts()); }

Device& get_cuda(int ordinal) { return cuda_device(ordinal); }

}  // namespace offramp
