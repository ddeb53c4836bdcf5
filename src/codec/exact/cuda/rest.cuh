// SPDX-License-Identifier: Apache-2.0
// What the general coders' kernels have in common.
#pragma once

#include "codec/exact/block/block_tile.hpp"
#include "codec/exact/block/cuda_block.cuh"
#include "codec/tiles/cuda/find_tile.cuh"

namespace offramp::exact::gpu {

/// What a block of a general coder shares.
struct RestRoom {
  block::CudaBlock::Shared block;
  block::BlockShared tile;
};

/// The memory of this block.
__device__ __forceinline__ std::byte* own_scratch(const tiles::gpu::Batch& batch) {
  return batch.block_scratch + std::uint64_t{blockIdx.x} * batch.block_scratch_size;
}

}  // namespace offramp::exact::gpu
