// SPDX-License-Identifier: Apache-2.0
// offramp's streams and events as CUDA's own, and the other way round. Only in a build with CUDA.
#pragma once

#include <offramp/core/event.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/device/device.hpp>

#include <cuda_runtime_api.h>

namespace offramp {

/// A stream that the caller made, for offramp to work on; it stays the caller's, and must live as
/// long as work on it does.
/// @throws LogicError for a null stream, for the legacy default stream (it waits for all others),
///         for cudaStreamPerThread (a different stream in each of offramp's threads), for a stream
///         of another GPU, and for a device that is not a CUDA device.
[[nodiscard]] StreamRef stream_ref(Device& device, cudaStream_t stream);

/// The same for GPU number `ordinal`. @throws LogicError also where there is no such GPU.
[[nodiscard]] StreamRef stream_ref(int ordinal, cudaStream_t stream);

/// The CUDA stream behind `stream`. @throws LogicError for a stream of another kind of device.
[[nodiscard]] cudaStream_t native(StreamRef stream);

/// The CUDA event behind `event`. @throws LogicError for an event of another kind of device.
[[nodiscard]] cudaEvent_t native(const Event& event);

/// The number of the GPU: 0 for "cuda:0". @throws LogicError for another kind of device.
[[nodiscard]] int ordinal_of(const StreamDriver& device);

/// A new non-blocking stream whose kernels go before those of streams with a higher number: the
/// GPU's own range (cudaDeviceGetStreamPriorityRange), to which `priority` is clamped.
/// @throws MachineError; LogicError for another kind of device.
[[nodiscard]] Stream make_stream(Device& device, int priority);

}  // namespace offramp
