// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace offramp {

/// What a look for the driver and its GPUs found.
struct DriverFacts {
  bool has_library{};                    ///< libcuda.so.1 can be loaded
  int version{};                         ///< the newest CUDA it supports: 13000 for 13.0
  cudaError_t result{};                  ///< of the runtime's first call
  int devices{};                         ///< 0 where that call failed
  std::optional<std::string> visible{};  ///< the environment's CUDA_VISIBLE_DEVICES
};

/// Looks once for the life of the process: the runtime does not look again either.
[[nodiscard]] const DriverFacts& driver_facts() noexcept;

/// Why there is no GPU, in words; empty where there is one.
[[nodiscard]] std::string why_no_gpu(const DriverFacts& facts);

/// The driver's own calls for contexts, which the runtime has no equal to: setting a device in the
/// runtime and setting the caller's back would make a context on a GPU that nobody uses.
struct ContextCalls {
  CUresult (*retain_primary)(CUcontext*, CUdevice){};
  CUresult (*get_current)(CUcontext*){};
  CUresult (*push)(CUcontext){};
  CUresult (*pop)(CUcontext*){};
};

/// @throws MachineError where the driver lacks them. Only for a machine that has a GPU.
[[nodiscard]] const ContextCalls& context_calls();

/// Makes a context the thread's current one while it lives; afterwards the caller's is back.
class ContextGuard {
 public:
  explicit ContextGuard(CUcontext context) noexcept;
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  bool pushed_{};
};

}  // namespace offramp
