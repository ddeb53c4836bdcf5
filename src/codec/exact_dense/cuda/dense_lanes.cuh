// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp do, in the words of the machine.
#pragma once

#include "codec/exact_dense/cuda/dense_fast_tile.cuh"

#include <cstdint>

namespace offramp::exact_dense::gpu {

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// What lanes wrote to shared memory is seen by the others. The compiler moves no load in assembly
/// over it.
__device__ __forceinline__ void sync_warp() {
  __syncwarp();
  asm volatile("" ::: "memory");
}

/// Loads and stores of shared memory by 32-bit address: no 64-bit arithmetic.
__device__ __forceinline__ std::uint32_t load_shared(std::uint32_t at) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
  return value;
}
__device__ __forceinline__ void store_shared(std::uint32_t at, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
}
__device__ __forceinline__ void store_shared_16(std::uint32_t at, std::uint32_t value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(static_cast<std::uint16_t>(value))
               : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t at, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}
/// Copies `units` of 16 bytes to shared memory, by all threads of the block; `f` changes them.
template <class F>
__device__ __forceinline__ void copy_to_shared(std::uint32_t to, const uint4* from,
                                               std::uint32_t units, F&& f) {
  constexpr std::uint32_t at_once = 4;  // loads in flight, a thread
  for (std::uint32_t first = threadIdx.x; first < units; first += at_once * blockDim.x) {
    uint4 v[at_once];
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (first + i * blockDim.x < units) v[i] = __ldg(from + first + i * blockDim.x);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) {
      const std::uint32_t at = first + i * blockDim.x;
      if (at < units) store_shared(to + 16 * at, f(v[i]));
    }
  }
}

/// Of tables, which do not change: the compiler may move these.
__device__ __forceinline__ std::uint32_t look_up(std::uint32_t at) {
  std::uint32_t value;
  asm("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
  return value;
}
__device__ __forceinline__ std::uint32_t look_up_16(std::uint32_t at) {
  std::uint16_t value;
  asm("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(at));
  return value;
}

__device__ __forceinline__ std::uint32_t lanes_below() {
  std::uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

__device__ __forceinline__ std::uint32_t exclusive_scan(std::uint32_t x) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t through = x;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(all_lanes, through, step);
    if (lane >= step) through += below;
  }
  return through - x;
}

/// Two numbers of 16 bits in a word: those of a lane's even and odd channel.
__device__ __forceinline__ std::uint32_t pair(std::uint32_t even, std::uint32_t odd) {
  return even & 0xffff | odd << 16;
}
__device__ __forceinline__ std::uint32_t half(std::uint32_t both, int which) {
  return which == 0 ? both & 0xffff : both >> 16;
}

}  // namespace offramp::exact_dense::gpu
