// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"

#include <cuda_runtime_api.h>

namespace offramp::tiles::gpu {

/// Puts the chunks together whose tiles' sizes the records hold. Heap pieces of tiles that are not
/// nominal or were too large for the staging, and all bodies of an odd chunk, are left to the
/// caller; their places are in the directories. If the pieces do not end before the staging, all of
/// the chunk are left.
cudaError_t launch_order(const Batch& batch, cudaStream_t stream);

}  // namespace offramp::tiles::gpu
