// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/buffer.hpp>

#include <cuda_runtime_api.h>

#include <mutex>

namespace offramp {

class CudaDevice;

/// A GPU's memory, given and taken in stream order from a pool that is nobody else's; made when
/// first used, kept for the life of the process.
class CudaPool final : public MemoryResource {
 public:
  explicit CudaPool(CudaDevice& device) noexcept : device_(device) {}

  [[nodiscard]] std::byte* allocate_async(StreamRef stream, std::size_t size) override;
  void free_async(StreamRef stream, std::byte* data, std::size_t size) noexcept override;

  /// Lets kernels and copies of GPU `ordinal` reach what the pool gives, now and later.
  void allow(int ordinal);

 private:
  cudaMemPool_t get();

  CudaDevice& device_;
  std::once_flag made_;
  cudaMemPool_t pool_{};
};

}  // namespace offramp
