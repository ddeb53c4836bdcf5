// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"

#include <cuda_runtime_api.h>

namespace offramp::exact_dense::gpu {

/// Room for the heap piece of a full tile of bf16: nearly all of what is left beside two pieces and
/// a body. Larger ones are coded once more, to their places.
inline constexpr std::uint32_t dense_staging_size = 10240;

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
