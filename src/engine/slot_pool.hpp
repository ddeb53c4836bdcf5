// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace offramp {

/// Which of a fixed number of slots are free. Allocates once. Guarded by its user's mutex.
class SlotPool {
 public:
  explicit SlotPool(std::size_t slots) : total_(slots), free_(slots) {
    // Taken from the back: the lowest first, the last given back again while it is in the cache.
    for (std::size_t at = 0; at < slots; ++at) free_[at] = slots - 1 - at;
  }

  [[nodiscard]] bool empty() const noexcept { return free_.empty(); }
  [[nodiscard]] std::size_t free() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  [[nodiscard]] std::size_t take() noexcept {
    const std::size_t slot = free_.back();
    free_.pop_back();
    peak_ = std::max(peak_, total_ - free_.size());
    return slot;
  }

  void give(std::size_t slot) noexcept { free_.push_back(slot); }  // within its capacity

 private:
  std::size_t total_;
  std::size_t peak_{0};
  std::vector<std::size_t> free_;
};

/// First in, first out, of a fixed capacity that its user never exceeds.
template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : items_(capacity) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  void push(T item) noexcept { items_[(first_ + size_++) % items_.size()] = item; }

  [[nodiscard]] T pop() noexcept {
    const T item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --size_;
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t first_{0};
  std::size_t size_{0};
};

}  // namespace offramp
