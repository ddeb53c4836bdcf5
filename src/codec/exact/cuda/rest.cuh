// SPDX-License-Identifier: Apache-2.0
// What the general coders' kernels have in common.
#pragma once

#include "codec/exact/block/block_tile.hpp"
#include "codec/exact/block/cuda_block.cuh"
#include "codec/tiles/cuda/find_tile.cuh"

namespace offramp::exact::gpu {

/// Whether the fast kernels take tiles of that place in this chunk at all.
template <bool flat>
__device__ __forceinline__ bool may_be_fast(const tiles::gpu::Chunk& chunk,
                                            const tiles::gpu::TilePlace& place,
                                            const std::byte* values) {
  if constexpr (flat) return true;
  return chunk.dtype == DType::bf16 && place.values == tiles::tile_values &&
         (reinterpret_cast<std::uintptr_t>(values) | chunk.pitch * 2) % 16 == 0;
}

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
