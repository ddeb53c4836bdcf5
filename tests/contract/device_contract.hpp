// SPDX-License-Identifier: Apache-2.0
// What every device owes. An implementation instantiates DeviceContract with a function that gives
// it, or nullptr where this machine has none: then the suite is skipped, with the reason. Host
// memory must be reachable for its copies.
#pragma once

#include "contract/device_kit.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/core/event.hpp>
#include <offramp/device/device.hpp>
#include <offramp/device/host_slab.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace offramp::testing_device {

class DeviceContract : public testing::TestWithParam<Device* (*)()> {
 protected:
  void SetUp() override {
    if (!GetParam()()) GTEST_SKIP() << "no such device here; " << absent_devices();
  }

  Device& device() { return *GetParam()(); }

  /// Host memory that copies run to and from without blocking.
  HostSlab slots(std::size_t count, std::size_t size) {
    HostSlab slab(device(), {.slots = count, .slot_size = size});
    for (std::size_t at = 0; at < count; ++at) std::ranges::fill(slab.slot(at), std::byte{0});
    return slab;
  }
  static bool all(std::span<const std::byte> bytes, int value) {
    return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == std::byte(value); });
  }
};

TEST_P(DeviceContract, CopiesRunInTheOrderOfTheirStream) {
  const auto slab = slots(3, 1 << 20);
  std::ranges::fill(slab.slot(0), std::byte{1});
  const Stream stream = device().make_stream();
  Buffer buffer(stream, device().memory(), slab.slot_size());
  for (int round = 0; round < 20; ++round) {
    device().copy_async(stream, {buffer.data(), slab.slot(0).data(), buffer.size()});
    device().copy_async(stream, {slab.slot(1).data(), buffer.data(), buffer.size()});
    device().copy_async(stream, {slab.slot(2).data(), slab.slot(1).data(), buffer.size()});
    stream.ref().sync();
    ASSERT_TRUE(all(slab.slot(2), 1));
    ASSERT_TRUE(stream.ref().is_done());
    std::ranges::fill(slab.slot(2), std::byte{0});
  }
}

TEST_P(DeviceContract, NothingWaitsUnlessItsNameSaysSo) {
  const auto slab = slots(2, 4096);
  std::ranges::fill(slab.slot(0), std::byte{7});
  const Stream stream = device().make_stream();
  const Stream other = device().make_stream();
  Event event = device().make_event();
  Latch latch(stream, device());
  // Each of these would hang here if it waited for the stream.
  device().copy_async(stream, {slab.slot(1).data(), slab.slot(0).data(), 4096});
  event.record(stream);
  other.ref().wait(event);
  Buffer buffer(stream, device().memory(), 4096);
  buffer = Buffer();
  EXPECT_FALSE(stream.ref().is_done());
  EXPECT_FALSE(event.is_done());
  EXPECT_TRUE(all(slab.slot(1), 0));
  latch.open();
  event.sync();
  EXPECT_TRUE(event.is_done());
  EXPECT_TRUE(all(slab.slot(1), 7));
  other.ref().sync();
}

TEST_P(DeviceContract, AnEventOrdersTwoStreams) {
  const auto slab = slots(3, 64 << 10);
  const Stream producer = device().make_stream();
  const Stream consumer = device().make_stream();
  Event event = device().make_event();
  for (int round = 1; round <= 50; ++round) {
    std::ranges::fill(slab.slot(0), std::byte(round));
    Latch latch(producer, device());
    device().copy_async(producer, {slab.slot(1).data(), slab.slot(0).data(), slab.slot_size()});
    event.record(producer);
    consumer.ref().wait(event);
    device().copy_async(consumer, {slab.slot(2).data(), slab.slot(1).data(), slab.slot_size()});
    EXPECT_FALSE(consumer.ref().is_done());
    latch.open();
    consumer.ref().sync();
    ASSERT_TRUE(all(slab.slot(2), round)) << "round " << round;
  }
}

TEST_P(DeviceContract, StreamsDoNotWaitForEachOther) {
  const Stream held = device().make_stream();
  const Stream free = device().make_stream();
  const auto slab = slots(2, 4096);
  std::ranges::fill(slab.slot(0), std::byte{5});
  Latch latch(held, device());
  device().copy_async(free, {slab.slot(1).data(), slab.slot(0).data(), 4096});
  free.ref().sync();
  EXPECT_TRUE(all(slab.slot(1), 5));
  EXPECT_FALSE(held.ref().is_done());
}

TEST_P(DeviceContract, AnEventCountsAsDoneUntilRecordedAndIsRecordedAgain) {
  const Stream first = device().make_stream();
  const Stream second = device().make_stream();
  const Stream waiter = device().make_stream();
  Event event = device().make_event();
  EXPECT_TRUE(event.is_done());
  event.sync();
  Latch first_latch(first, device());
  event.record(first);
  waiter.ref().wait(event);
  // Recorded anew on an idle stream the event is done, but who waits for the first point still
  // does.
  event.record(second);
  EXPECT_TRUE(event.is_done());
  EXPECT_FALSE(waiter.ref().is_done());
  first_latch.open();
  waiter.ref().sync();
}

TEST_P(DeviceContract, AnEventMayOutliveItsStream) {
  Event event = device().make_event();
  {
    const Stream stream = device().make_stream();
    event.record(stream);
    stream.ref().sync();
  }
  EXPECT_TRUE(event.is_done());
  event.sync();
  const Stream other = device().make_stream();
  other.ref().wait(event);
  other.ref().sync();
}

TEST_P(DeviceContract, AManyTimesDeeperQueueStillRunsInOrder) {
  struct Count {
    std::vector<int> seen;
    int next{0};
  } count;
  count.seen.reserve(1000);
  const Stream stream = device().make_stream();
  {
    Latch latch(stream, device());
    for (int at = 0; at < 1000; ++at) {
      device().call_async(
          stream,
          [](void* arg) noexcept {
            auto& c = *static_cast<Count*>(arg);
            c.seen.push_back(c.next++);
          },
          &count);
    }
    latch.open();
    stream.ref().sync();
  }
  ASSERT_EQ(count.seen.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(count.seen));
}

TEST_P(DeviceContract, ADestroyedStreamFinishesItsWork) {
  const auto slab = slots(2, 1 << 20);
  std::ranges::fill(slab.slot(0), std::byte{9});
  Event event = device().make_event();
  {
    const Stream stream = device().make_stream();
    device().copy_async(stream, {slab.slot(1).data(), slab.slot(0).data(), slab.slot_size()});
    event.record(stream);
  }
  event.sync();
  EXPECT_TRUE(all(slab.slot(1), 9));
}

TEST_P(DeviceContract, AFreedBufferLivesUntilItsStreamIsThere) {
  const auto slab = slots(2, 1 << 20);
  std::ranges::fill(slab.slot(0), std::byte{3});
  const Stream stream = device().make_stream();
  for (int round = 0; round < 20; ++round) {
    Latch latch(stream, device());
    {
      Buffer buffer(stream, device().memory(), slab.slot_size());
      device().copy_async(stream, {buffer.data(), slab.slot(0).data(), buffer.size()});
      device().copy_async(stream, {slab.slot(1).data(), buffer.data(), buffer.size()});
    }  // freed while both copies still wait: a sanitizer sees a use after free
    latch.open();
    stream.ref().sync();
    ASSERT_TRUE(all(slab.slot(1), 3));
    std::ranges::fill(slab.slot(1), std::byte{0});
  }
}

TEST_P(DeviceContract, CopiesTakeAnySizeAndAddress) {
  constexpr std::size_t room = 300;
  const auto slab = slots(2, room);
  for (std::size_t at = 0; at < room; ++at) slab.slot(0)[at] = std::byte(at);
  const Stream stream = device().make_stream();
  Buffer buffer(stream, device().memory(), room);
  for (const bool through_device : {true, false}) {
    for (const std::size_t size : {0u, 1u, 15u, 16u, 64u, 255u}) {
      for (const std::size_t from : {0u, 1u, 16u}) {
        const std::size_t to = 17 - from;
        std::ranges::fill(slab.slot(1), std::byte{0xee});
        const std::byte* source = slab.slot(0).data() + from;
        if (through_device) {
          device().copy_async(stream, {buffer.data() + from, source, size});
          source = buffer.data() + from;
        }
        device().copy_async(stream, {slab.slot(1).data() + to, source, size});
        stream.ref().sync();
        ASSERT_EQ(std::memcmp(slab.slot(1).data() + to, slab.slot(0).data() + from, size), 0);
        ASSERT_TRUE(all(slab.slot(1).first(to), 0xee));
        ASSERT_TRUE(all(slab.slot(1).subspan(to + size), 0xee));
      }
    }
  }
}

TEST_P(DeviceContract, MemoryOfTheProgramIsCopiedToo) {
  const std::vector<std::byte> source(100'000, std::byte{6});
  std::vector<std::byte> target(source.size());
  const auto slab = slots(1, source.size());
  const Stream stream = device().make_stream();
  Buffer buffer(stream, device().memory(), source.size());
  device().copy_async(stream, {buffer.data(), source.data(), source.size()});
  device().copy_async(stream, {target.data(), buffer.data(), source.size()});
  device().copy_async(stream, {slab.slot(0).data(), target.data(), source.size()});
  stream.ref().sync();
  EXPECT_EQ(target, source);
  EXPECT_TRUE(all(slab.slot(0), 6));
}

TEST_P(DeviceContract, ABatchMakesEachOfItsCopies) {
  constexpr std::size_t count = 700;
  constexpr std::size_t size = 1000;
  const auto slab = slots(3, count * size);
  for (std::size_t at = 0; at < count * size; ++at) slab.slot(0)[at] = std::byte(at * 7 / size);
  const Stream stream = device().make_stream();
  Buffer buffer(stream, device().memory(), count * size);
  Latch latch(stream, device());
  std::vector<Device::Copy> there;
  std::vector<Device::Copy> back;
  for (std::size_t at = 0; at < count; ++at) {
    // Pieces that touch, of sizes from nothing to all, backwards; every fifth stays on the host.
    const std::size_t piece = (count - 1 - at) * size;
    const bool by_device = at % 5 != 0;
    std::byte* const middle = by_device ? buffer.data() + piece : slab.slot(1).data() + piece;
    there.push_back({middle, slab.slot(0).data() + piece, at % (size + 1)});
    back.push_back({slab.slot(2).data() + piece, middle, at % (size + 1)});
  }
  device().copy_batch_async(stream, there);
  there.clear();  // read before the call returned
  device().copy_batch_async(stream, back);
  device().copy_batch_async(stream, {});
  EXPECT_FALSE(stream.ref().is_done());
  EXPECT_TRUE(all(slab.slot(2), 0));
  latch.open();
  stream.ref().sync();
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t piece = (count - 1 - at) * size;
    const std::size_t copied = at % (size + 1);
    const auto got = slab.slot(2).subspan(piece, size);
    ASSERT_TRUE(std::ranges::equal(got.first(copied), slab.slot(0).subspan(piece, copied))) << at;
    ASSERT_TRUE(all(got.subspan(copied), 0)) << at;
  }
}

TEST_P(DeviceContract, SlotsAreApartAlignedAndNotPageable) {
  const auto slab = slots(5, 1000);
  ASSERT_EQ(slab.slots(), 5u);
  for (std::size_t at = 0; at < 5; ++at) {
    EXPECT_EQ(slab.slot(at).size(), 1000u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab.slot(at).data()) % 4096, 0u);
    EXPECT_FALSE(device().is_pageable(slab.slot(at).data()));
    std::ranges::fill(slab.slot(at), std::byte(at + 1));
  }
  for (std::size_t at = 0; at < 5; ++at) EXPECT_TRUE(all(slab.slot(at), int(at) + 1));
}

TEST_P(DeviceContract, RefusesNullHandlesAndTooMuchMemory) {
  EXPECT_THROW(StreamRef(device(), nullptr), LogicError);
  EXPECT_THROW(static_cast<void>(Stream().ref()), LogicError);
  static_assert(!std::is_constructible_v<StreamRef, std::nullptr_t>);
  static_assert(!std::is_constructible_v<StreamRef, int>);
  EXPECT_THROW(HostSlab(device(), {.slots = 3, .slot_size = SIZE_MAX / 2}), LogicError);
  EXPECT_THROW(HostSlab(device(), {.slots = 1, .slot_size = SIZE_MAX}), LogicError);
  EXPECT_THROW(HostSlab(device(), {.slots = 1, .slot_size = std::size_t{1} << 60}), OutOfMemory);
  const Stream stream = device().make_stream();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which abort on such a size
  EXPECT_THROW(Buffer(stream, device().memory(), std::size_t{1} << 60), OutOfMemory);
#endif
}

}  // namespace offramp::testing_device
