// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
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

}  // namespace offramp::testing_samples
