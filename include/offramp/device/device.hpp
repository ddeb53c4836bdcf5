// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/buffer.hpp>
#include <offramp/core/event.hpp>
#include <offramp/core/stream.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace offramp {

/// One device: its streams, its memory, and copies between it and the host.
///
/// Thread-safe. Lives as long as the process (see device_table.hpp). Nothing blocks or synchronises
/// unless its name says so. `host` is the reference: its streams are threads, its memory is the
/// host's.
class Device : public StreamDriver {
 public:
  /// "host", "cuda:0".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// A new stream, independent of all others. @throws MachineError.
  [[nodiscard]] virtual Stream make_stream() = 0;
  [[nodiscard]] Event make_event() { return Event(*this); }

  /// The device's own memory.
  [[nodiscard]] virtual MemoryResource& memory() noexcept = 0;

  /// Host memory that the device copies to and from at full speed without the caller waiting
  /// (page-locked for CUDA), aligned to 4096. Slow to make: take it once. @throws OutOfMemory.
  [[nodiscard]] virtual std::byte* allocate_host(std::size_t size) = 0;
  virtual void free_host(std::byte* data, std::size_t size) noexcept = 0;

  /// Whether a copy to or from this host memory would be slow and make the caller wait.
  [[nodiscard]] virtual bool is_pageable(const std::byte* data) const noexcept = 0;

  struct Copy {
    std::byte* to{};
    const std::byte* from{};
    std::size_t size{};
  };

  /// Copies between any two places that the device reaches, other devices of its kind among them.
  /// Both must live until it is done.
  virtual void copy_async(StreamRef stream, const Copy& copy) = 0;

  /// Makes all copies, in any order and at once where the device can: none may read or write what
  /// another one writes. `copies` itself is read before the call returns.
  virtual void copy_batch_async(StreamRef stream, std::span<const Copy> copies) {
    for (const Copy& copy : copies) copy_async(stream, copy);
  }

  /// Runs `fn(arg)` on the host when the stream gets there. `fn` must not block for long, take
  /// locks that a caller of this device may hold, or call the device.
  virtual void call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) = 0;
};

}  // namespace offramp
