// SPDX-License-Identifier: Apache-2.0
#include "engine/host_store.hpp"

#include "core/bytes.hpp"

#include <algorithm>
#include <new>

namespace offramp {
namespace {

// Every block has an address of its own, one of no bytes too.
std::size_t taken_by(std::size_t size) {
  return round_up(std::max<std::size_t>(size, 1), HostStore::alignment);
}

}  // namespace

HostStore::HostStore(Device& device, std::size_t size)
    : slab_(device, {.slots = 1, .slot_size = round_up(size, alignment)}) {
  if (slab_.slot_size() > 0) add(0, slab_.slot_size());
}

std::optional<std::vector<HostStore::Block>> HostStore::try_allocate(
    std::span<const std::size_t> sizes) {
  std::vector<Block> blocks;
  blocks.reserve(sizes.size());
  for (const std::size_t size : sizes) {
    const auto at = take(taken_by(size));
    if (!at) return std::nullopt;  // the blocks so far give themselves back
    blocks.push_back(Block(shared_from_this(), slab_.slot(0).subspan(*at, size)));
  }
  return blocks;
}

std::size_t HostStore::free() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [at, size] : by_place_) sum += size;
  return sum;
}

// The smallest range that holds it, so that large ones stay.
std::optional<std::size_t> HostStore::take(std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [whole, at] = *found;
  remove(by_place_.find(at));
  if (whole > size) add(at + size, whole - size);
  return at;
}

void HostStore::give(std::size_t at, std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    auto next = by_place_.lower_bound(at);
    if (next != by_place_.end() && next->first == at + size) {
      size += next->second;
      remove(next++);
    }
    if (next != by_place_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first;
        size += before->second;
        remove(before);
      }
    }
    add(at, size);
  } catch (const std::bad_alloc&) {
    // The range is lost to the store: there is nobody to tell, and the process has other worries.
  }
}

void HostStore::add(std::size_t at, std::size_t size) {
  const auto range = by_place_.emplace(at, size).first;
  try {
    by_size_.emplace(size, at);
  } catch (...) {
    by_place_.erase(range);  // in both or in neither
    throw;
  }
}

void HostStore::remove(std::map<std::size_t, std::size_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  by_place_.erase(range);
}

HostStore::Block::Block(std::shared_ptr<HostStore> store, std::span<std::byte> bytes) noexcept
    : store_(std::move(store)), bytes_(bytes) {}

HostStore::Block::Block(Block&& other) noexcept
    : store_(std::move(other.store_)), bytes_(std::exchange(other.bytes_, {})) {}

HostStore::Block& HostStore::Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    Block moved(std::move(other));
    std::swap(store_, moved.store_);
    std::swap(bytes_, moved.bytes_);
  }
  return *this;
}

HostStore::Block::~Block() {
  if (!store_) return;
  const auto at = static_cast<std::size_t>(bytes_.data() - store_->slab_.slot(0).data());
  store_->give(at, taken_by(bytes_.size()));
}

void HostStore::Block::shrink(std::size_t size) noexcept {
  if (!store_ || size >= bytes_.size()) return;
  const std::size_t kept = taken_by(size);
  const std::size_t taken = taken_by(bytes_.size());
  const auto at = static_cast<std::size_t>(bytes_.data() - store_->slab_.slot(0).data());
  bytes_ = bytes_.first(size);
  if (kept < taken) store_->give(at + kept, taken - kept);
}

}  // namespace offramp
