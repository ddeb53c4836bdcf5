// SPDX-License-Identifier: Apache-2.0
#include "engine/host_store.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <algorithm>
#include <iterator>
#include <new>

namespace offramp {
namespace {

std::size_t taken_by(std::size_t size) { return round_up(size, HostStore::alignment); }

}  // namespace

HostStore::HostStore(Device& device, std::size_t size)
    : slab_(device, {.slots = 1, .slot_size = round_up(size, alignment)}) {
  if (slab_.slot_size() > 0) add(0, slab_.slot_size());
}

std::optional<HostStore::Room> HostStore::try_reserve(std::span<const std::size_t> sizes) {
  std::size_t sum = 0;
  for (const std::size_t size : sizes) {
    if (size > SIZE_MAX - alignment || __builtin_add_overflow(sum, taken_by(size), &sum))
      return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (sum > free_ - reserved_) return std::nullopt;
  reserved_ += sum;
  return Room(shared_from_this(), sum);
}

std::size_t HostStore::free() const {
  const std::lock_guard lock(mutex_);
  return free_ - reserved_;
}

// The smallest range that holds it, so that large ones stay; where none does, all of the largest.
HostStore::Block HostStore::cut(std::size_t size) {
  auto found = by_size_.lower_bound({taken_by(size), 0});
  if (found == by_size_.end()) found = std::prev(by_size_.end());
  const auto [whole, at] = *found;
  remove(by_place_.find(at));
  const std::size_t taken = std::min(whole, taken_by(size));
  if (whole > taken) add(at + taken, whole - taken);
  return Block(shared_from_this(), slab_.slot(0).subspan(at, std::min(size, taken)));
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
  free_ += size;
}

void HostStore::remove(std::map<std::size_t, std::size_t>::iterator range) {
  free_ -= range->second;
  by_size_.erase({range->second, range->first});
  by_place_.erase(range);
}

HostStore::Room::Room(std::shared_ptr<HostStore> store, std::size_t size) noexcept
    : store_(std::move(store)), left_(size) {}

HostStore::Room::Room(Room&& other) noexcept
    : store_(std::move(other.store_)), left_(std::exchange(other.left_, 0)) {}

HostStore::Room& HostStore::Room::operator=(Room&& other) noexcept {
  if (this != &other) {
    Room moved(std::move(other));
    std::swap(store_, moved.store_);
    std::swap(left_, moved.left_);
  }
  return *this;
}

HostStore::Room::~Room() {
  if (!store_) return;
  const std::lock_guard lock(store_->mutex_);
  store_->reserved_ -= left_;
}

std::vector<HostStore::Block> HostStore::Room::take(std::size_t size, std::size_t reserved) {
  OFFRAMP_EXPECTS(size <= reserved && taken_by(reserved) <= left_, "more than was reserved");
  std::vector<Block> blocks;
  blocks.reserve(size > 0 ? 1 : 0);
  {
    const std::lock_guard lock(store_->mutex_);
    while (size > 0) {
      blocks.push_back(store_->cut(size));
      size -= blocks.back().bytes().size();
    }
    store_->reserved_ -= taken_by(reserved);
  }
  left_ -= taken_by(reserved);
  return blocks;
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

}  // namespace offramp
