// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/find_tile.cuh"

namespace offramp::exact::gpu {

/// Whether the fast kernels take tiles of that place in this chunk at all: full ones of bf16 whose
/// rows begin on 16 bytes. `values` is the tile's first; `flat` as in Batch.
template <bool flat>
__device__ __forceinline__ bool may_be_fast(const tiles::gpu::Chunk& chunk,
                                            const tiles::gpu::TilePlace& place,
                                            const std::byte* values) {
  if constexpr (flat) return true;
  return chunk.dtype == DType::bf16 && place.values == tiles::tile_values &&
         (reinterpret_cast<std::uintptr_t>(values) | chunk.pitch * 2) % 16 == 0;
}

}  // namespace offramp::exact::gpu
