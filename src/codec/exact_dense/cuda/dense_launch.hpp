// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"

#include <cuda_runtime_api.h>

namespace offramp::exact_dense::gpu {

/// Room for the heap piece of a full tile of bf16: half of what a body leaves of the raw tile, as
/// pieces in order need as much. Larger ones are coded once more, to their places.
inline constexpr std::uint32_t dense_staging_size = 10320;

/// The least that a block has, for loading its tables soon: more warps than tiles, then.
inline constexpr std::uint32_t min_warps = 16;
inline constexpr std::uint32_t max_warps = 32;

/// Few tiles are spread over all multiprocessors, those of an H200.
inline constexpr std::uint32_t multiprocessors = 132;
[[nodiscard]] constexpr std::uint32_t warps_for(std::uint32_t tiles) {
  const std::uint32_t even = (tiles + multiprocessors - 1) / multiprocessors;
  return even < min_warps ? min_warps : even > max_warps ? max_warps : (even + 3) / 4 * 4;
}

/// Codes the ordinary tiles of a batch and marks the others.
cudaError_t launch_encode(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Marks all tiles, where none can be ordinary.
cudaError_t launch_mark_all(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Fills in the records of the marked tiles.
cudaError_t launch_measure(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Codes the tiles that were marked to their places, once the chunks are in order.
cudaError_t launch_place_rest(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Codes ordinary tiles to their places that could not be moved there: of odd chunks, and those of
/// large heap pieces.
cudaError_t launch_place(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Decodes the ordinary tiles of nominal chunks; all others are left to the next.
cudaError_t launch_decode(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Checks the frames, and decodes all tiles that launch_decode leaves.
cudaError_t launch_decode_rest(const tiles::gpu::Batch& batch, cudaStream_t stream);

/// Scratch of one block of the general coders.
[[nodiscard]] std::size_t block_scratch_of(DType dtype) noexcept;

}  // namespace offramp::exact_dense::gpu
