// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace offramp {

static_assert(std::endian::native == std::endian::little,
              "formats are little-endian and read in place");

/// Unaligned little-endian load and store.
template <class T>
[[nodiscard]] inline T load(const void* from) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store(void* to, T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

[[nodiscard]] constexpr std::size_t ceil_div(std::size_t a, std::size_t b) noexcept {
  return a / b + (a % b != 0);
}

[[nodiscard]] constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return ceil_div(size, unit) * unit;
}

/// Reads fields off untrusted bytes; once a read does not fit, `ok()` is false and all reads give
/// 0.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  template <class T>
  T take() noexcept {
    if (left_.size() < sizeof(T)) {
      fail();
      return T{};
    }
    const T value = load<T>(left_.data());
    left_ = left_.subspan(sizeof(T));
    return value;
  }

  /// The next `size` bytes, or an empty span where fewer are left.
  std::span<const std::byte> take_bytes(std::size_t size) noexcept {
    if (left_.size() < size) {
      fail();
      return {};
    }
    const auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

 private:
  void fail() noexcept {
    ok_ = false;
    left_ = {};
  }

  std::span<const std::byte> left_;
  bool ok_{true};
};

}  // namespace offramp
