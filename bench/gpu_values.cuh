// SPDX-License-Identifier: Apache-2.0
// Values for benchmarks on a GPU, and whether they came back.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace offramp::bench {

/// n bf16 values: `period` of them again and again. From the second time on their low six mantissa
/// bits, which do not compress, are stirred, so that no two tiles are equal.
static __global__ void repeat(std::uint16_t* to, std::size_t n, const std::uint16_t* from,
                              std::size_t period) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += gridDim.x * std::size_t{blockDim.x}) {
    std::uint64_t x = i * 0x9e3779b97f4a7c15ull;
    x ^= x >> 31;
    const auto stir = static_cast<std::uint16_t>(i < period ? 0 : x >> 40 & 0x3f);
    to[i] = from[i % period] ^ stir;
  }
}

/// Adds how many of n differ to `count`.
static __global__ void count_differences(const uint4* a, const uint4* b, std::size_t n,
                                         unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += gridDim.x * std::size_t{blockDim.x}) {
    const uint4 x = a[i], y = b[i];
    mine += x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w;
  }
  if (mine != 0) atomicAdd(count, mine);
}

}  // namespace offramp::bench
