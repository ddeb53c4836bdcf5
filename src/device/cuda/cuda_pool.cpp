// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_pool.hpp"

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace offramp {
namespace {

// What the pool keeps of freed memory at a sync: the slots and scratch of a few pipelines, so that
// the next one need not ask the driver, but not so much that other allocators miss it.
constexpr std::uint64_t kept_bytes = 1u << 30;

double gib(std::size_t size) { return static_cast<double>(size) / double(1u << 30); }

}  // namespace

cudaMemPool_t CudaPool::get() {
  std::call_once(made_, [this] {
    const CudaAttempt attempt{.action = "make a memory pool", .device = device_.name()};
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {.type = cudaMemLocationTypeDevice, .id = device_.ordinal()};
    cudaMemPool_t pool = nullptr;
    check_cuda(cudaMemPoolCreate(&pool, &props), attempt);
    auto kept = kept_bytes;
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), attempt);
    // Memory freed on one stream and not done there is not given to another one: that would make
    // the second wait for the first, unasked.
    int off = 0;
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off),
               attempt);
    pool_ = pool;
  });
  return pool_;
}

std::byte* CudaPool::allocate_async(StreamRef stream, std::size_t size) {
  const ContextGuard guard(device_.context());
  void* data = nullptr;
  // A buffer of no bytes has an address as well.
  const cudaError_t code = cudaMallocFromPoolAsync(&data, std::max<std::size_t>(size, 1), get(),
                                                   static_cast<cudaStream_t>(stream.native()));
  if (code == cudaSuccess) return static_cast<std::byte*>(data);
  (void)cudaGetLastError();
  std::size_t free = 0;
  std::size_t total = 0;
  const bool known = cudaMemGetInfo(&free, &total) == cudaSuccess;
  (void)cudaGetLastError();
  // The driver calls a size that no GPU has an invalid one.
  if (code == cudaErrorMemoryAllocation || (known && size > total)) {
    throw OutOfMemory(size,
                      known ? fmt::format("device memory of {}: {:.2f} of {:.2f} GiB are free",
                                          device_.name(), gib(free), gib(total))
                            : fmt::format("device memory of {}", device_.name()),
                      "free device memory, or use smaller chunks or fewer slots");
  }
  throw_cuda(code, {.action = "allocate device memory", .device = device_.name(), .size = size});
}

void CudaPool::free_async(StreamRef stream, std::byte* data, std::size_t) noexcept {
  const ContextGuard guard(device_.known_context());
  // It fails where a kernel has failed before, or the process unloads: then all is lost anyway.
  if (cudaFreeAsync(data, static_cast<cudaStream_t>(stream.native())) != cudaSuccess)
    (void)cudaGetLastError();
}

void CudaPool::allow(int ordinal) {
  const cudaMemAccessDesc access{.location = {.type = cudaMemLocationTypeDevice, .id = ordinal},
                                 .flags = cudaMemAccessFlagsProtReadWrite};
  const ContextGuard guard(device_.context());
  check_cuda(
      cudaMemPoolSetAccess(get(), &access, 1),
      {.action = fmt::format("let cuda:{} reach the memory", ordinal), .device = device_.name()});
}

}  // namespace offramp
