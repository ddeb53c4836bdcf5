// SPDX-License-Identifier: Apache-2.0
// The host device over a slow link, and without one of its barriers where a test wants that.
#pragma once

#include "unit/engine/engine_kit.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace offramp::testing_engine {

enum class LeftOut {
  nothing,
  stream_wait,
  event_sync,
  producer_sync,  ///< event_sync, of events of the stream `producer`
};

/// The host device without one of its barriers, or one that fails.
class LeakyDevice final : public Device {
 public:
  explicit LeakyDevice(LeftOut left_out) : left_out_(left_out) {}

  std::string_view name() const noexcept override { return "leaky"; }
  Stream make_stream() override {
    // The same thread and queue, but driven through this device.
    auto owned = std::make_unique<Stream>(host_device().make_stream());
    const std::lock_guard lock(mutex_);
    streams_.push_back(owned.get());
    return Stream(*this, owned.release());
  }
  MemoryResource& memory() noexcept override { return memory_; }
  std::byte* allocate_host(std::size_t size) override { return host_device().allocate_host(size); }
  void free_host(std::byte* data, std::size_t size) noexcept override {
    host_device().free_host(data, size);
  }
  bool is_pageable(const std::byte* data) const noexcept override {
    return pageable || host_device().is_pageable(data);
  }
  void copy_async(StreamRef stream, const Copy& copy) override {
    // As a slow link would, so that a missing wait shows.
    host_device().call_async(
        host(stream),
        [](void* device) noexcept {
          std::this_thread::sleep_for(static_cast<LeakyDevice*>(device)->latency);
        },
        this);
    std::atomic<int>& copying = copy.from == watched ? copying_watched : copying_;
    ++copying;
    host_device().copy_async(host(stream), copy);
    host_device().call_async(
        host(stream), [](void* count) noexcept { --*static_cast<std::atomic<int>*>(count); },
        &copying);
  }
  void call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) override {
    host_device().call_async(host(stream), fn, arg);
  }
  void sync(StreamRef stream) override { host(stream).sync(); }
  bool is_done(StreamRef stream) override { return host(stream).is_done(); }
  void wait(StreamRef stream, const Event& event) override {
    if (left_out_ != LeftOut::stream_wait) host(stream).wait(host(event));
  }
  void destroy_stream(void* native) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      std::erase(streams_, static_cast<Stream*>(native));
    }
    delete static_cast<Stream*>(native);
  }
  void* make_native_event() override { return new Event(host_device().make_event()); }
  void destroy_event(void* native) noexcept override { delete static_cast<Event*>(native); }
  void record(Event& event, StreamRef stream) override {
    if (fails || --records_left < 0)
      throw MachineError(
          {.code = ErrorCode::device, .what = "the device failed", .path = {}, .remedy = {}});
    if (left_out_ == LeftOut::producer_sync && stream.native() == producer) {
      const std::lock_guard lock(mutex_);
      producers_.insert(event.native());
    }
    host(event).record(host(stream));
  }
  void sync_event(const Event& event) override {
    if (left_out_ == LeftOut::event_sync || is_of_producer(event)) return;
    host(event).sync();
  }
  bool is_event_done(const Event& event) override { return host(event).is_done(); }

  /// The host's streams behind those that there are, in the order in which they were made.
  std::vector<Stream*> streams() const {
    const std::lock_guard lock(mutex_);
    return streams_;
  }

  void* producer{};                         ///< native stream, for `LeftOut::producer_sync`
  std::atomic<bool> pageable{};             ///< it reaches no source but by slow copies
  std::atomic<bool> fails{};                ///< events can no longer be recorded
  std::atomic<int> records_left{1 << 30};   ///< events that can still be recorded
  std::chrono::microseconds latency{200};   ///< of a copy
  const std::byte* watched{};               ///< copies from here are counted apart
  std::atomic<int> copying_watched{};       ///< of them, those asked for and not done
  std::atomic<bool> freed_while_copying{};  ///< memory was given back while a copy was under way

 private:
  static StreamRef host(StreamRef stream) { return *static_cast<Stream*>(stream.native()); }
  bool is_of_producer(const Event& event) const {
    const std::lock_guard lock(mutex_);
    return producers_.contains(event.native());
  }
  static Event& host(const Event& event) { return *static_cast<Event*>(event.native()); }

  class Memory final : public MemoryResource {
   public:
    explicit Memory(LeakyDevice& device) : device_(device) {}

   private:
    std::byte* allocate_async(StreamRef stream, std::size_t size) override {
      return host_device().memory().allocate_async(host(stream), size);
    }
    void free_async(StreamRef stream, std::byte* data, std::size_t size) noexcept override {
      host_device().call_async(
          host(stream),
          [](void* at) noexcept {
            auto& device = *static_cast<LeakyDevice*>(at);
            if (device.copying_ + device.copying_watched > 0) device.freed_while_copying = true;
          },
          &device_);
      host_device().memory().free_async(host(stream), data, size);
    }

    LeakyDevice& device_;
  };

  LeftOut left_out_;
  mutable std::mutex mutex_;
  std::vector<Stream*> streams_;
  std::set<const void*> producers_;  // events
  std::atomic<int> copying_{};
  Memory memory_{*this};
};

}  // namespace offramp::testing_engine
