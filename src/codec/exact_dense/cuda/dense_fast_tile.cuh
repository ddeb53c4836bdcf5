// SPDX-License-Identifier: Apache-2.0
// What the fast kernels, and those for what they leave, have in common.
#pragma once

#include "codec/exact_dense/dense_format.hpp"
#include "codec/tiles/cuda/find_tile.cuh"

#include <cstdint>

namespace offramp::exact_dense::gpu {

inline constexpr std::uint32_t all_lanes = 0xffffffffu;

/// A full tile of bf16: 16 chunks of 16 rows, in each of which a lane has 6 rest words.
inline constexpr std::uint32_t full_chunks = tiles::tile_rows / chunk_rows;
inline constexpr std::uint32_t rest_words_a_chunk = 6;
inline constexpr std::uint32_t full_body_size = 12128;
static_assert(rest_body_size({256, 64, 16384}, rest_shape(6)) == full_body_size);

/// Whether the fast kernels take tiles of that place in this chunk at all: full ones of bf16 whose
/// rows begin on 16 bytes. `values` is the tile's first.
__device__ __forceinline__ bool may_be_fast(const tiles::gpu::Chunk& chunk,
                                            const tiles::gpu::TilePlace& place,
                                            const std::byte* values) {
  return chunk.dtype == DType::bf16 && place.values == tiles::tile_values &&
         place.width == tiles::tile_width &&
         (reinterpret_cast<std::uintptr_t>(values) | chunk.pitch * 2) % 16 == 0;
}

/// Clears what is counted of a chunk.
__device__ __forceinline__ void reset_chunk(const tiles::gpu::Batch& batch, std::uint32_t number) {
  batch.records.is_odd[number] = 0;
  batch.records.is_large[number] = 0;
  batch.records.raw_tiles[number] = 0;
  batch.records.other_tiles[number] = 0;
}

}  // namespace offramp::exact_dense::gpu
