// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <vector>

namespace offramp::testing_samples {

/// Bytes with a guard on both sides that shows a write outside; filled with `fill` at first.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size, std::byte fill = std::byte{0xcd}, std::size_t skew = 0)
      : size_(size), begin_(guard + skew), bytes_(begin_ + size + guard, mark) {
    if (size != 0) std::memset(bytes_.data() + begin_, static_cast<int>(fill), size);
  }

  [[nodiscard]] std::span<std::byte> span() noexcept { return {bytes_.data() + begin_, size_}; }

  /// Nothing was written outside.
  [[nodiscard]] bool intact() const noexcept {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (i == begin_) i += size_;
      if (bytes_[i] != mark) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard = 128;
  static constexpr std::byte mark{0xa7};

  std::size_t size_;
  std::size_t begin_;
  std::vector<std::byte> bytes_;
};

/// A copy of bytes that ends where a page begins that cannot be read: a read behind the end kills
/// the test, with or without a sanitizer.
class BytesBeforeWall {
 public:
  explicit BytesBeforeWall(std::span<const std::byte> bytes) : size_(bytes.size()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t readable = (size_ + page - 1) / page * page;
    mapped_ = readable + page;
    memory_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    auto* const wall = static_cast<std::byte*>(memory_) + readable;
    if (mprotect(wall, page, PROT_NONE) != 0) throw std::bad_alloc();
    begin_ = wall - size_;
    if (size_ != 0) std::memcpy(begin_, bytes.data(), size_);
  }
  BytesBeforeWall(const BytesBeforeWall&) = delete;
  BytesBeforeWall& operator=(const BytesBeforeWall&) = delete;
  ~BytesBeforeWall() { munmap(memory_, mapped_); }

  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {begin_, size_}; }

 private:
  std::size_t size_;
  std::size_t mapped_{};
  void* memory_{};
  std::byte* begin_{};
};

}  // namespace offramp::testing_samples
