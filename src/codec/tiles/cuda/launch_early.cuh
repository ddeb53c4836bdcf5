// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"

#include <cuda_runtime.h>

namespace offramp::tiles::gpu {

/// Launches a kernel whose blocks may start while those of the kernel before still run; it waits
/// for them with cudaGridDependencySynchronize(). Hides most of a launch's latency.
template <class... Params, class... Args>
cudaError_t launch_early(void (*kernel)(Params...), std::uint32_t blocks, std::uint32_t threads,
                         std::size_t shared, const Batch& batch, cudaStream_t stream,
                         Args... args) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, batch, args...);
}

/// Lets the next kernel's blocks move in as soon as all of this one's have: they wait there, in
/// `cudaGridDependencySynchronize()`, for this one's end.
__device__ __forceinline__ void start_next_early() { cudaTriggerProgrammaticLaunchCompletion(); }

}  // namespace offramp::tiles::gpu
