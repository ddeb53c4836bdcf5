// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/device/host_slab.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace offramp {
namespace {

/// The host, with at most `limit` bytes of slots at once.
class LimitedDevice final : public Device {
 public:
  explicit LimitedDevice(std::size_t limit) : limit_(limit) {}

  std::vector<std::size_t> asked;
  std::size_t given{};

  std::byte* allocate_host(std::size_t size) override {
    asked.push_back(size);
    if (size > limit_) throw OutOfMemory(size, "test slots", "ask for less");
    given += size;
    return host_device().allocate_host(size);
  }
  void free_host(std::byte* data, std::size_t size) noexcept override {
    given -= size;
    host_device().free_host(data, size);
  }

  std::string_view name() const noexcept override { return "limited"; }
  Stream make_stream() override { return host_device().make_stream(); }
  MemoryResource& memory() noexcept override { return host_device().memory(); }
  bool is_pageable(const std::byte*) const noexcept override { return false; }
  void copy_async(StreamRef stream, const Copy& copy) override {
    host_device().copy_async(stream, copy);
  }
  void call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) override {
    host_device().call_async(stream, fn, arg);
  }
  void sync(StreamRef stream) override { host_device().sync(stream); }
  bool is_done(StreamRef stream) override { return host_device().is_done(stream); }
  void wait(StreamRef stream, const Event& event) override { host_device().wait(stream, event); }
  void destroy_stream(void* native) noexcept override { host_device().destroy_stream(native); }
  void* make_native_event() override { return host_device().make_native_event(); }
  void destroy_event(void* native) noexcept override { host_device().destroy_event(native); }
  void record(Event& event, StreamRef stream) override { host_device().record(event, stream); }
  void sync_event(const Event& event) override { host_device().sync_event(event); }
  bool is_event_done(const Event& event) override { return host_device().is_event_done(event); }

 private:
  std::size_t limit_;
};

TEST(HostSlab, HasAllSlotsWhereThereIsRoom) {
  LimitedDevice device(8 * 4096);
  const HostSlab slab(device, {.slots = 8, .slot_size = 4096, .min_slots = 2});
  EXPECT_EQ(slab.slots(), 8u);
  EXPECT_EQ(slab.shortfall(), "");
  EXPECT_EQ(device.asked, std::vector<std::size_t>{8 * 4096});
}

TEST(HostSlab, TakesFewerSlotsWhereTheCallerAllowsItAndSaysWhy) {
  for (const std::size_t room : {7u, 5u, 3u, 2u}) {
    LimitedDevice device(room * 4096);
    {
      HostSlab slab(device, {.slots = 8, .slot_size = 4000, .min_slots = 2});
      EXPECT_GE(slab.slots(), 2u);
      EXPECT_LE(slab.slots(), room);
      EXPECT_GE(slab.slots() * 4, std::max<std::size_t>(8, (room - 1) * 4)) << "far too few";
      EXPECT_EQ(device.given, slab.slots() * 4096);
      // The message is of what was wanted, not of the last attempt.
      EXPECT_NE(slab.shortfall().find("32768 bytes (test slots); ask for less"), std::string::npos)
          << slab.shortfall();
      std::ranges::fill(slab.slot(slab.slots() - 1), std::byte{1});
      const std::size_t slots = slab.slots();
      const HostSlab moved = std::move(slab);
      EXPECT_EQ(moved.slots(), slots);
      EXPECT_NE(moved.shortfall(), "");
    }
    EXPECT_EQ(device.given, 0u);
  }
}

TEST(HostSlab, RefusesWhereTooFewOrUnaskedFewerWouldBeLeft) {
  LimitedDevice device(4 * 4096);
  EXPECT_THROW(HostSlab(device, {.slots = 8, .slot_size = 4096, .min_slots = 5}), OutOfMemory);
  EXPECT_EQ(device.asked.back(), 5u * 4096);
  device.asked.clear();
  EXPECT_THROW(HostSlab(device, {.slots = 8, .slot_size = 4096}), OutOfMemory);
  EXPECT_EQ(device.asked.size(), 1u);
  EXPECT_THROW(HostSlab(device, {.slots = 2, .slot_size = 4096, .min_slots = 3}), LogicError);
  EXPECT_EQ(device.given, 0u);
}

}  // namespace
}  // namespace offramp
