// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace offramp {

/// Gives and takes memory in stream order. Thread-safe.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;

  /// `size` bytes, aligned to 256, usable by work given to `stream` after this call. Does not wait
  /// for the stream. @throws OutOfMemory.
  [[nodiscard]] virtual std::byte* allocate_async(StreamRef stream, std::size_t size) = 0;

  /// Takes the bytes back when all work given to `stream` so far is done.
  virtual void free_async(StreamRef stream, std::byte* data, std::size_t size) noexcept = 0;
};

/// Owning, uninitialised bytes on one device; freed in the order of the last stream it was given.
///
/// Move-only: a copy is spelled `copy_async`, so no copy can hide a sync. Not thread-safe. Resource
/// and stream must outlive the buffer.
class Buffer {
 public:
  Buffer() noexcept = default;

  /// @throws OutOfMemory if the resource has no room.
  Buffer(StreamRef stream, MemoryResource& from, std::size_t size);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// From now on the buffer is freed in the order of `stream`.
  void set_stream(StreamRef stream) noexcept;

 private:
  void release() noexcept;

  std::byte* data_{};
  std::size_t size_{};
  MemoryResource* from_{};
  StreamDriver* driver_{};
  void* stream_{};
};

static_assert(std::is_nothrow_move_constructible_v<Buffer>);

}  // namespace offramp
