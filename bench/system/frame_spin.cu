// SPDX-License-Identifier: Apache-2.0
// What stands for a model on a GPU: kernels that take a stated time and no memory bandwidth.
#include "frame_spin.hpp"

#include <offramp/cuda/stream.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>

namespace bench {
namespace {

constexpr int kernels = 8;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(std::uint64_t ns) {
  const std::uint64_t end = nanoseconds() + ns;
  while (nanoseconds() < end) __nanosleep(200);
}

}  // namespace

void spin_async(offramp::StreamRef stream, std::uint64_t ns) {
  static const int blocks = [&] {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, offramp::ordinal_of(stream.driver())) != cudaSuccess) {
      throw std::runtime_error("the GPU does not say how many multiprocessors it has");
    }
    return properties.multiProcessorCount;
  }();
  for (int kernel = 0; kernel < kernels; ++kernel) {
    spin<<<blocks, 256, 0, offramp::native(stream)>>>(ns / kernels);
    if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("a kernel did not start");
  }
}

}  // namespace bench
