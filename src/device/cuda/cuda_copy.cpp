// SPDX-License-Identifier: Apache-2.0
// CudaDevice's copies: which call copies what.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/host_copy.hpp"

#include <offramp/cuda/peers.hpp>

#include <fmt/format.h>

#include <array>
#include <exception>

namespace offramp {
namespace {

enum class Where { device, managed, pinned, pageable };

struct Place {
  Where where{};
  int ordinal{-1};      // the GPU, for device memory
  void* seen_by_gpu{};  // for page-locked memory
};

Place place_of(const void* data) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, data),
             {.action = "look up an address", .device = "any GPU"});
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return {.where = Where::device, .ordinal = attributes.device};
    case cudaMemoryTypeManaged:
      return {.where = Where::managed};
    case cudaMemoryTypeHost:
      return {.where = Where::pinned, .seen_by_gpu = attributes.devicePointer};
    case cudaMemoryTypeUnregistered:
      break;
  }
  return {.where = Where::pageable};
}

cudaStream_t stream_of(StreamRef stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace

struct CudaDevice::Ends {
  Place to;
  Place from;

  [[nodiscard]] bool are(Where where) const { return to.where == where && from.where == where; }
  [[nodiscard]] bool are_peers() const { return are(Where::device) && to.ordinal != from.ordinal; }
  // Copies of these kinds never wait, and one call takes many.
  [[nodiscard]] bool batchable() const {
    return to.where != Where::pageable && from.where != Where::pageable && !are(Where::pinned) &&
           !are_peers();
  }
};

CudaDevice::Ends CudaDevice::ends_of(const Copy& copy) const {
  return {.to = place_of(copy.to), .from = place_of(copy.from)};
}

bool CudaDevice::is_pageable(const std::byte* data) const noexcept {
  try {
    const ContextGuard guard(context());
    return place_of(data).where == Where::pageable;
  } catch (const std::exception&) {
    return true;  // the copy itself says what is wrong
  }
}

void CudaDevice::copy_async(StreamRef stream, const Copy& copy) {
  if (copy.size == 0) return;
  const ContextGuard guard(context());
  copy_one(stream, copy, ends_of(copy));
}

void CudaDevice::copy_one(StreamRef stream, const Copy& copy, const Ends& ends) {
  if (ends.are(Where::pinned)) {
    check(copy_host_async(
              stream_of(stream),
              {.to = ends.to.seen_by_gpu, .from = ends.from.seen_by_gpu, .size = copy.size}),
          "copy between two places of the host");
  } else if (ends.are_peers()) {
    meet(ends.to.ordinal);
    meet(ends.from.ordinal);
    check(cudaMemcpyPeerAsync(copy.to, ends.to.ordinal, copy.from, ends.from.ordinal, copy.size,
                              stream_of(stream)),
          fmt::format("copy from cuda:{} to cuda:{}", ends.from.ordinal, ends.to.ordinal));
  } else {
    check(cudaMemcpyAsync(copy.to, copy.from, copy.size, cudaMemcpyDefault, stream_of(stream)),
          "copy");
  }
}

void CudaDevice::copy_batch_async(StreamRef stream, std::span<const Copy> copies) {
  constexpr std::size_t most = 128;  // on the stack; one call's cost is small against so many
  std::array<void*, most> to;
  std::array<const void*, most> from;
  std::array<std::size_t, most> sizes;
  std::size_t count = 0;
  const ContextGuard guard(context());
  const auto flush = [&] {
    if (count == 0) return;
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    check(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, &attributes, &first, 1,
                               stream_of(stream)),
          fmt::format("copy {} pieces at once", count));
    count = 0;
  };
  for (const Copy& copy : copies) {
    if (copy.size == 0) continue;
    const Ends ends = ends_of(copy);
    if (!ends.batchable()) {
      copy_one(stream, copy, ends);
      continue;
    }
    to[count] = copy.to;
    from[count] = copy.from;
    sizes[count] = copy.size;
    if (++count == most) flush();
  }
  flush();
}

// The first copy between two GPUs opens the direct way, where there is one. Without it the driver
// goes through host memory.
void CudaDevice::meet(int other) {
  if (other == ordinal_) return;
  std::call_once(met_[static_cast<std::size_t>(other)], [&] {
    if (!peer_matrix().direct(ordinal_, other)) return;
    // For memory that others allocated; somebody may have done it before.
    const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
    if (code != cudaErrorPeerAccessAlreadyEnabled)
      check(code, fmt::format("reach the memory of cuda:{}", other));
    (void)cudaGetLastError();
    cuda_device(other).pool_.allow(ordinal_);
  });
}

const PeerMatrix& peer_matrix() {
  static const PeerMatrix matrix(driver_facts().devices, [](int from, int to) {
    int can = 0;
    if (cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess) return can != 0;
    (void)cudaGetLastError();
    return false;
  });
  return matrix;
}

}  // namespace offramp
