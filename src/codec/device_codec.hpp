// SPDX-License-Identifier: Apache-2.0
// The seam between those who code on a device and the device's kernels: offramp/cuda/codec.hpp says
// what each call promises, whatever the device.
#pragma once

#include <offramp/codec/stage.hpp>
#include <offramp/core/tensor_view.hpp>
#include <offramp/cuda/codec.hpp>
#include <offramp/device/device.hpp>

#include <cstddef>
#include <span>

namespace offramp {

using cuda::DecodeChunk;
using cuda::EncodeChunk;
using cuda::Scratch;
using cuda::ScratchSize;

/// Coding in the order of a device's streams. Size and status words may lie in the device's fast
/// host memory, where the host reads them once the stream is done with the call.
struct DeviceCodec {
  bool (*has_kernels)(StageId stage, DType dtype) noexcept {};
  ScratchSize (*encode_scratch_size)(StageId stage, std::span<const TensorDesc> descs){};
  ScratchSize (*decode_scratch_size)(StageId stage, std::span<const TensorDesc> descs){};
  void (*encode_async)(StreamRef stream, StageId stage, std::span<const EncodeChunk> chunks,
                       const Scratch& scratch){};
  void (*decode_async)(StreamRef stream, StageId stage, std::span<const DecodeChunk> chunks,
                       const Scratch& scratch){};
  Result<void> (*check_status)(std::uint32_t status){};

  /// Loads a stage's kernels, once for the process. A kernel that is loaded by its first launch may
  /// wait for whatever runs on the device, and hang where that waits for the launching thread.
  void (*load)(Device& device, StageId stage){};

  /// A stream whose kernels go before those of streams with a higher number, where the device knows
  /// of such an order.
  Stream (*make_stream)(Device& device, int priority){};

  /// Asks the device to keep `bytes` in its cache for work on `stream` from now on, at most
  /// `set_aside` of them. A hint. @returns how many it may keep.
  std::size_t (*keep_in_cache)(Device& device, StreamRef stream, std::span<std::byte> bytes,
                               std::size_t set_aside){};
};

/// Of a GPU its kernels; of any other device, whose memory is the host's, the stages themselves,
/// run by the stream's thread.
[[nodiscard]] const DeviceCodec& device_codec(const Device& device) noexcept;

/// The GPU's row of that table (src/codec/cuda/device_codec.cpp).
[[nodiscard]] const DeviceCodec& cuda_device_codec() noexcept;

}  // namespace offramp
