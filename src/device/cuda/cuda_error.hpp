// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

namespace offramp {

/// What was tried, for the message of the error it may end in.
struct CudaAttempt {
  std::string_view action{};  ///< "record an event"
  std::string_view device{};  ///< "cuda:0"
  std::size_t size{};         ///< bytes asked for, where memory was
};

/// What a failed CUDA call means: what, on which device, and what to do about it.
[[nodiscard]] Error cuda_failure(cudaError_t code, const CudaAttempt& attempt);

/// Whether a kernel failed in a way that ends the process's use of that GPU.
[[nodiscard]] bool is_sticky(cudaError_t code) noexcept;

/// Throws OutOfMemory or MachineError, and clears the runtime's last error.
[[noreturn]] void throw_cuda(cudaError_t code, const CudaAttempt& attempt);

inline void check_cuda(cudaError_t code, const CudaAttempt& attempt) {
  if (code != cudaSuccess) [[unlikely]]
    throw_cuda(code, attempt);
}

}  // namespace offramp
