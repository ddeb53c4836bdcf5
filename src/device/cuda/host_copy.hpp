// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace offramp {

struct HostCopy {
  void* to{};          ///< as the GPU sees it
  const void* from{};  ///< as the GPU sees it
  std::size_t size{};  ///< above 0
};

/// Copies between two pieces of page-locked host memory in stream order. CUDA's own copy waits for
/// the stream when both ends are on the host, so the GPU copies them itself.
[[nodiscard]] cudaError_t copy_host_async(cudaStream_t stream, const HostCopy& copy) noexcept;

/// Loads the kernels on the current device. Loaded by their first launch they could wait for work
/// that runs, and hang where that work waits for the launching thread.
void load_host_copy() noexcept;

}  // namespace offramp
