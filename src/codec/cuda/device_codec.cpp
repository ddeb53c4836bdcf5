// SPDX-License-Identifier: Apache-2.0
#include "codec/device_codec.hpp"

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"

#include <offramp/cuda/stream.hpp>

#include <algorithm>

namespace offramp {
namespace {

// The set-aside is the process's: it is raised where it is lower, and never lowered, since somebody
// else may have asked for it.
std::size_t keep_in_cache(Device& device, StreamRef stream, std::span<std::byte> bytes,
                          std::size_t set_aside) {
  CudaDevice& cuda = as_cuda(device);
  const ContextGuard guard(cuda.context());
  const auto check = [&](cudaError_t code) {
    check_cuda(code, {.action = "keep the ring in the cache", .device = cuda.name()});
  };
  int most = 0;
  int widest = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, cuda.ordinal()));
  check(cudaDeviceGetAttribute(&widest, cudaDevAttrMaxAccessPolicyWindowSize, cuda.ordinal()));
  const std::size_t window = std::min(
      {bytes.size(), set_aside, static_cast<std::size_t>(most), static_cast<std::size_t>(widest)});
  if (window == 0) return 0;
  std::size_t now = 0;
  check(cudaDeviceGetLimit(&now, cudaLimitPersistingL2CacheSize));
  if (now < window) check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, window));
  cudaStreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = bytes.data();
  value.accessPolicyWindow.num_bytes = window;
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  check(cudaStreamSetAttribute(native(stream), cudaStreamAttributeAccessPolicyWindow, &value));
  return window;
}

}  // namespace

const DeviceCodec& cuda_device_codec() noexcept {
  static constexpr DeviceCodec codec{.has_kernels = cuda::has_kernels,
                                     .encode_scratch_size = cuda::encode_scratch_size,
                                     .decode_scratch_size = cuda::decode_scratch_size,
                                     .encode_async = cuda::encode_async,
                                     .decode_async = cuda::decode_async,
                                     .check_status = cuda::check_status,
                                     .make_stream = make_stream,
                                     .keep_in_cache = keep_in_cache};
  return codec;
}

}  // namespace offramp
