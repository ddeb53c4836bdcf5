// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/stage.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// Coding on the GPU: the bytes are those of the host stages (offramp/codec/stage.hpp).
///
/// Every call enqueues work and returns: nothing synchronises, allocates, or touches another stream
/// than the one given, so calls can be captured into a CUDA graph. One call takes any number of
/// chunks, of any shapes.
namespace offramp::cuda {

/// One chunk to code. All addresses are device memory, of the stream's device.
struct EncodeChunk {
  TensorDesc desc{};
  const std::byte* in{};  ///< contiguous, row-major values
  std::byte* out{};       ///< at least `max_encoded_size(desc)` bytes, aligned to 128
  std::uint64_t* size{};  ///< set to the coded size when the stream gets there; aligned to 8
};

/// One chunk to decode, whole. All addresses are device memory, of the stream's device.
struct DecodeChunk {
  TensorDesc desc{};
  const std::byte* in{};  ///< coded bytes, aligned to 128; untrusted
  std::uint64_t in_size{};
  std::byte* out{};         ///< `desc.size()` bytes
  std::uint32_t* status{};  ///< 0 when the call is made; not 0 afterwards where `in` was refused
};

/// Memory that a call uses until the stream has passed it; both 256-byte aligned.
struct ScratchSize {
  std::size_t device{};
  std::size_t host{};  ///< page-locked; 0 for calls of few chunks
};
struct Scratch {
  std::span<std::byte> device{};
  std::span<std::byte> host{};
};

/// Whether the stage has CUDA kernels for that dtype in this build.
[[nodiscard]] bool has_kernels(StageId stage, DType dtype) noexcept;

/// Scratch for one call over chunks of these descriptions.
/// @throws LogicError for a stage or dtype without kernels, a chunk of 64 GiB or more, or one
///         without elements.
[[nodiscard]] ScratchSize encode_scratch_size(StageId stage, std::span<const TensorDesc> descs);
[[nodiscard]] ScratchSize decode_scratch_size(StageId stage, std::span<const TensorDesc> descs);

/// Codes the chunks. Inputs must stay as they are, and outputs and scratch be left alone, until the
/// stream has passed the call.
/// @throws LogicError where sizes or alignment are wrong; MachineError where a launch fails.
void encode_async(StreamRef stream, StageId stage, std::span<const EncodeChunk> chunks,
                  const Scratch& scratch);

/// Decodes the chunks. A chunk that is refused sets its status and writes nothing outside its own
/// output, whose contents are then undefined.
void decode_async(StreamRef stream, StageId stage, std::span<const DecodeChunk> chunks,
                  const Scratch& scratch);

/// What a status word that the host has read says.
[[nodiscard]] Result<void> check_status(std::uint32_t status);

}  // namespace offramp::cuda
