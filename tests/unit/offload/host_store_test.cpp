// SPDX-License-Identifier: Apache-2.0
#include "engine/host_store.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace offramp {
namespace {

using Blocks = std::vector<HostStore::Block>;

std::shared_ptr<HostStore> store_of(std::size_t size) {
  return std::make_shared<HostStore>(host_device(), size);
}

std::size_t size_of_all(const Blocks& blocks) {
  std::size_t sum = 0;
  for (const auto& block : blocks) sum += block.bytes().size();
  return sum;
}

TEST(HostStore, ReservesAllOrNothing) {
  const auto store = store_of(4096);
  auto room = store->try_reserve(std::array<std::size_t, 3>{1000, 2000, 0});
  ASSERT_TRUE(room);
  EXPECT_EQ(store->free(), 4096u - 1024 - 2048);
  EXPECT_FALSE(store->try_reserve(std::array<std::size_t, 2>{1000, 500}));
  EXPECT_FALSE(store->try_reserve(std::array<std::size_t, 2>{SIZE_MAX - 200, 500}));
  room.reset();
  EXPECT_EQ(store->free(), 4096u);
}

TEST(HostStore, WhatIsTakenIsExactAndTheRestIsFreeAgain) {
  const auto store = store_of(4096);
  auto room = *store->try_reserve(std::array<std::size_t, 2>{2048, 2048});
  EXPECT_EQ(store->free(), 0u);
  Blocks first = room.take(1000, 2048);
  EXPECT_EQ(size_of_all(first), 1000u);
  EXPECT_EQ(store->free(), 1024u);
  EXPECT_THROW(static_cast<void>(room.take(1000, 4096)), LogicError);
  EXPECT_THROW(static_cast<void>(room.take(2049, 2048)), LogicError);
  first.clear();
  EXPECT_EQ(store->free(), 2048u);
  EXPECT_TRUE(room.take(0, 2048).empty());
  EXPECT_EQ(store->free(), 4096u);
}

TEST(HostStore, ScatteredRoomIsRoom) {
  const auto store = store_of(64 << 10);
  std::vector<Blocks> held;
  for (int at = 0; at < 32; ++at)
    held.push_back(store->try_reserve(std::array<std::size_t, 1>{2048})->take(2048, 2048));
  EXPECT_EQ(store->free(), 0u);
  for (std::size_t at = 0; at < held.size(); at += 2) held[at].clear();
  auto room = store->try_reserve(std::array<std::size_t, 1>{32 << 10});
  ASSERT_TRUE(room);
  const Blocks all = room->take(32 << 10, 32 << 10);
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(size_of_all(all), std::size_t{32} << 10);
}

TEST(HostStore, BlocksNeverOverlapAndNothingIsLost) {
  const auto store = store_of(1 << 20);
  std::mt19937 random(3);
  std::vector<std::pair<Blocks, std::byte>> held;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 3 != 0) {
      const std::size_t size = random() % 20'000;
      if (auto room = store->try_reserve(std::array{size})) {
        const auto mark = std::byte(random());
        const std::size_t used = random() % (size + 1);
        held.emplace_back(room->take(used, size), mark);
        ASSERT_EQ(size_of_all(held.back().first), used);
        for (const auto& block : held.back().first) std::ranges::fill(block.bytes(), mark);
      }
    } else if (!held.empty()) {
      const std::size_t at = random() % held.size();
      for (const auto& block : held[at].first) {
        const std::byte mark = held[at].second;
        ASSERT_TRUE(std::ranges::all_of(block.bytes(), [&](std::byte b) { return b == mark; }));
      }
      std::swap(held[at], held.back());
      held.pop_back();
    }
  }
  held.clear();
  EXPECT_EQ(store->free(), std::size_t{1} << 20);
  auto room = store->try_reserve(std::array<std::size_t, 1>{1 << 20});
  EXPECT_EQ(room->take(1 << 20, 1 << 20).size(), 1u) << "ranges that touch are one";
}

TEST(HostStore, ABlockKeepsTheStore) {
  auto store = store_of(4096);
  Blocks blocks = store->try_reserve(std::array<std::size_t, 1>{100})->take(100, 100);
  store.reset();
  std::ranges::fill(blocks[0].bytes(), std::byte{1});
  blocks.clear();
}

}  // namespace
}  // namespace offramp
