// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device.hpp>

namespace offramp {

/// The reference device: a stream is a thread, device memory is host memory.
class HostDevice final : public Device, private MemoryResource {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }
  [[nodiscard]] Stream make_stream() override;
  [[nodiscard]] MemoryResource& memory() noexcept override { return *this; }
  [[nodiscard]] std::byte* allocate_host(std::size_t size) override;
  void free_host(std::byte* data, std::size_t size) noexcept override;
  /// memcpy reaches all memory alike.
  [[nodiscard]] bool is_pageable(const std::byte*) const noexcept override { return false; }
  void copy_async(StreamRef stream, const Copy& copy) override;
  void call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) override;

  void sync(StreamRef stream) override;
  [[nodiscard]] bool is_done(StreamRef stream) override;
  void wait(StreamRef stream, const Event& event) override;
  void destroy_stream(void* native) noexcept override;
  [[nodiscard]] void* make_native_event() override;
  void destroy_event(void* native) noexcept override;
  void record(Event& event, StreamRef stream) override;
  void sync_event(const Event& event) override;
  [[nodiscard]] bool is_event_done(const Event& event) override;

 private:
  [[nodiscard]] std::byte* allocate_async(StreamRef stream, std::size_t size) override;
  void free_async(StreamRef stream, std::byte* data, std::size_t size) noexcept override;
};

}  // namespace offramp
