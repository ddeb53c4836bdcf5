// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace offramp::testing_samples {

/// Memory that a thread uses again for its next block: under AddressSanitizer a large allocation
/// comes fresh from the kernel each time, and tests that decode thousands of times did little but
/// wait for that. What lies behind a block is poisoned then. It begins at a multiple of 64.
class KeptBlock {
 public:
  explicit KeptBlock(std::size_t size) {
    for (Memory& one : kept()) {
      if (one.size >= size && memory_.size < size) std::swap(one, memory_);
    }
    if (memory_.size < size) {
      memory_ = {Bytes(static_cast<std::byte*>(::operator new(size, alignment))), size};
    }
    poison(size);
  }
  KeptBlock(const KeptBlock&) = delete;
  KeptBlock& operator=(const KeptBlock&) = delete;
  ~KeptBlock() {
    poison(memory_.size);
    Memory& smallest =
        *std::min_element(kept().begin(), kept().end(),
                          [](const Memory& a, const Memory& b) { return a.size < b.size; });
    if (smallest.size < memory_.size) std::swap(smallest, memory_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return memory_.bytes.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* bytes) const noexcept { ::operator delete(bytes, alignment); }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;
  struct Memory {
    Bytes bytes;
    std::size_t size{};
  };

  static std::array<Memory, 3>& kept() {
    static thread_local std::array<Memory, 3> blocks;
    return blocks;
  }

  void poison([[maybe_unused]] std::size_t from) noexcept {
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(memory_.bytes.get(), from);
    ASAN_POISON_MEMORY_REGION(memory_.bytes.get() + from, memory_.size - from);
#endif
  }

  Memory memory_;
};

/// Bytes with a guard on both sides that shows a write outside; filled with `fill` at first.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size, std::byte fill = std::byte{0xcd}, std::size_t skew = 0)
      : size_(size), begin_(guard + skew), end_(begin_ + size + guard), block_(end_) {
    std::fill_n(block_.data(), end_, mark);
    std::fill_n(block_.data() + begin_, size, fill);
  }

  [[nodiscard]] std::span<std::byte> span() noexcept { return {block_.data() + begin_, size_}; }

  /// Nothing was written outside.
  [[nodiscard]] bool intact() const noexcept {
    for (std::size_t i = 0; i < end_; ++i) {
      if (i == begin_) i += size_;
      if (block_.data()[i] != mark) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard = 128;
  static constexpr std::byte mark{0xa7};

  std::size_t size_;
  std::size_t begin_;
  std::size_t end_;
  KeptBlock block_;
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
