// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned_memory.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/numa.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>

namespace offramp {
namespace {

std::string gib(std::size_t size) {
  return fmt::format("{:.2f} GiB", static_cast<double>(size) / double(1u << 30));
}

[[noreturn]] void refuse(const PinnedRequest& request, std::string_view why) {
  std::string remedy = "use fewer or smaller host slots, or free host memory";
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < request.size) {
    remedy += fmt::format(", or raise the limit on locked memory, {} here (ulimit -l)",
                          gib(limit.rlim_cur));
  }
  throw OutOfMemory(request.size,
                    fmt::format("{} of page-locked host memory for {}: {}", gib(request.size),
                                request.device, why),
                    remedy);
}

std::string text_of(cudaError_t code) {
  return fmt::format("{} ({})", cudaGetErrorString(code), cudaGetErrorName(code));
}

}  // namespace

std::byte* allocate_pinned(const PinnedRequest& request) {
  // Locking more than there is does not fail: the kernel ends some program to make room.
  if (const std::size_t room = available_host_memory(); request.size > room)
    refuse(request, fmt::format("only {} of host memory are available", gib(room)));

  void* const data =
      mmap(nullptr, request.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) refuse(request, "the address space or the memory limit is exhausted");
  (void)madvise(data, request.size, MADV_HUGEPAGE);  // fewer pages to lock
  if (request.numa_node) prefer_numa_node(data, request.size, *request.numa_node);
  const cudaError_t code = cudaHostRegister(data, request.size, cudaHostRegisterPortable);
  if (code == cudaSuccess) return static_cast<std::byte*>(data);
  munmap(data, request.size);
  (void)cudaGetLastError();
  if (is_sticky(code)) throw_cuda(code, {.action = "lock host memory", .device = request.device});

  // Some machines (sandboxes, old kernels) lock only what the driver itself allocates.
  if (code != cudaErrorMemoryAllocation) {
    void* own = nullptr;
    if (cudaHostAlloc(&own, request.size, cudaHostAllocPortable) == cudaSuccess)
      return static_cast<std::byte*>(own);
    (void)cudaGetLastError();
  }
  refuse(request, text_of(code));
}

void free_pinned(std::byte* data, std::size_t size) noexcept {
  const cudaError_t code = cudaHostUnregister(data);
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) {
    munmap(data, size);
    return;
  }
  (void)cudaGetLastError();
  // Memory of the driver's own is not registered. After a kernel's failure neither call works, and
  // the mapping is left to the end of the process.
  (void)cudaFreeHost(data);
  (void)cudaGetLastError();
}

}  // namespace offramp
