// SPDX-License-Identifier: Apache-2.0
#include "codec/device_codec.hpp"

#include "core/bytes.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_error.hpp"

#include <offramp/cuda/stream.hpp>
#include <offramp/device/host_slab.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

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

// Codes and decodes `count` chunks of zeros: what they code to is nobody's business here.
void run_once(Device& device, StreamRef stream, StageId stage, const TensorDesc& desc,
              std::size_t count) {
  const std::vector<TensorDesc> descs(count, desc);
  const ScratchSize encode = cuda::encode_scratch_size(stage, descs);
  const ScratchSize decode = cuda::decode_scratch_size(stage, descs);
  const std::size_t room = round_up(find_stage(stage)->max_encoded_size(desc), 256);
  const Buffer values(stream, device.memory(), desc.size());
  const Buffer coded(stream, device.memory(), count * room);
  const Buffer words(stream, device.memory(), count * sizeof(std::uint64_t));
  const Buffer scratch(stream, device.memory(), std::max(encode.device, decode.device));
  const HostSlab table(device, {.slots = 1, .slot_size = std::max(encode.host, decode.host)});
  const Scratch both{.device = {scratch.data(), scratch.size()}, .host = table.slot(0)};
  const auto zero = [&](const Buffer& buffer) {
    check_cuda(cudaMemsetAsync(buffer.data(), 0, buffer.size(), native(stream)),
               {.action = "clear memory", .device = device.name()});
  };
  zero(values);
  zero(coded);
  zero(words);
  std::vector<EncodeChunk> to;
  std::vector<DecodeChunk> from;
  auto* const word = reinterpret_cast<std::uint64_t*>(words.data());
  for (std::size_t at = 0; at < count; ++at) {
    std::byte* const place = coded.data() + at * room;
    to.push_back({.desc = desc, .in = values.data(), .out = place, .size = word + at});
    from.push_back({.desc = desc,
                    .in = place,
                    .in_size = room,
                    .out = values.data(),
                    .status = reinterpret_cast<std::uint32_t*>(word + at)});
  }
  cuda::encode_async(stream, stage, to, both);
  zero(words);
  cuda::decode_async(stream, stage, from, both);
  stream.sync();
}

void load(Device& device, StageId stage) {
  static std::mutex mutex;
  static std::set<std::pair<int, StageId>> loaded;
  const std::lock_guard lock(mutex);
  const std::pair key(ordinal_of(device), stage);
  if (loaded.contains(key)) return;
  const ContextGuard guard(as_cuda(device).context());
  const Stream stream = device.make_stream();
  // There are kernels for one chunk, for few and for many, each for tensors of full tiles and for
  // others, and for bf16 and others.
  for (const DType dtype : {DType::bf16, DType::fp32}) {
    if (!cuda::has_kernels(stage, dtype)) continue;
    for (const Shape& shape : {Shape{256, 64}, Shape{16, 64}}) {
      for (const std::size_t count : {1u, 2u, 5u})
        run_once(device, stream, stage, {.dtype = dtype, .shape = shape}, count);
    }
  }
  loaded.insert(key);
}

}  // namespace

const DeviceCodec& cuda_device_codec() noexcept {
  static constexpr DeviceCodec codec{.has_kernels = cuda::has_kernels,
                                     .encode_scratch_size = cuda::encode_scratch_size,
                                     .decode_scratch_size = cuda::decode_scratch_size,
                                     .encode_async = cuda::encode_async,
                                     .decode_async = cuda::decode_async,
                                     .check_status = cuda::check_status,
                                     .load = load,
                                     .make_stream = make_stream,
                                     .keep_in_cache = keep_in_cache};
  return codec;
}

}  // namespace offramp
