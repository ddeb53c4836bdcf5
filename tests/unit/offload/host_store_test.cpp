// SPDX-License-Identifier: Apache-2.0
#include "engine/host_store.hpp"

#include <offramp/device/device_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace offramp {
namespace {

using Blocks = std::vector<HostStore::Block>;

std::shared_ptr<HostStore> store_of(std::size_t size) {
  return std::make_shared<HostStore>(host_device(), size);
}

TEST(HostStore, GivesAllOrNothing) {
  const auto store = store_of(4096);
  const std::vector<std::size_t> fits{1000, 2000, 0};
  const std::vector<std::size_t> too_much{1000, 500};
  auto first = store->try_allocate(fits);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)[0].bytes().size(), 1000u);
  const std::size_t left = store->free();
  EXPECT_EQ(left, 4096u - 1024 - 2048 - 128);
  EXPECT_FALSE(store->try_allocate(too_much));
  EXPECT_EQ(store->free(), left);
  first.reset();
  EXPECT_EQ(store->free(), 4096u);
}

TEST(HostStore, WhatIsShrunkIsGivenBackAndJoinsItsNeighbours) {
  const auto store = store_of(4096);
  const std::vector<std::size_t> sizes{2048, 2048};
  auto blocks = *store->try_allocate(sizes);
  blocks[0].shrink(1000);
  EXPECT_EQ(blocks[0].bytes().size(), 1000u);
  EXPECT_EQ(store->free(), 1024u);
  blocks[1] = {};
  EXPECT_EQ(store->free(), 3072u);
  const std::vector<std::size_t> all{3072};
  EXPECT_TRUE(store->try_allocate(all)) << "two ranges, not one";
}

TEST(HostStore, BlocksNeverOverlapAndNothingIsLost) {
  const auto store = store_of(1 << 20);
  std::mt19937 random(3);
  std::vector<std::pair<HostStore::Block, std::byte>> held;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 3 != 0) {
      const std::vector<std::size_t> sizes{random() % 20'000};
      if (auto got = store->try_allocate(sizes)) {
        const auto mark = std::byte(random());
        std::ranges::fill((*got)[0].bytes(), mark);
        held.emplace_back(std::move((*got)[0]), mark);
        if (random() % 2) held.back().first.shrink(random() % (sizes[0] + 1));
      }
    } else if (!held.empty()) {
      const std::size_t at = random() % held.size();
      const auto& [block, mark] = held[at];
      ASSERT_TRUE(std::ranges::all_of(block.bytes(), [&](std::byte b) { return b == mark; }));
      std::swap(held[at], held.back());
      held.pop_back();
    }
  }
  held.clear();
  EXPECT_EQ(store->free(), std::size_t{1} << 20);
  const std::vector<std::size_t> all{1 << 20};
  EXPECT_TRUE(store->try_allocate(all));
}

TEST(HostStore, ABlockKeepsTheStore) {
  auto store = store_of(4096);
  const std::vector<std::size_t> sizes{100};
  auto blocks = *store->try_allocate(sizes);
  store.reset();
  std::ranges::fill(blocks[0].bytes(), std::byte{1});
  blocks.clear();
}

}  // namespace
}  // namespace offramp
