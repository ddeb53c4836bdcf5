// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace offramp {

/// Extents of a tensor, outermost first, held inline. Rank 0 is a scalar of one element.
///
/// A value type; no allocation. An extent of 0 is allowed and makes the tensor empty.
class Shape {
 public:
  /// The largest rank an archive can hold.
  static constexpr std::size_t max_rank = 16;

  constexpr Shape() noexcept = default;

  /// @throws LogicError if there are more than `max_rank` extents.
  Shape(std::initializer_list<std::uint64_t> extents);
  explicit Shape(std::span<const std::uint64_t> extents);

  [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t axis) const noexcept {
    return extents_[axis];
  }
  [[nodiscard]] constexpr std::span<const std::uint64_t> extents() const noexcept {
    return {extents_.data(), rank_};
  }

  /// Number of elements, or nothing where the product does not fit 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> checked_elems() const noexcept;

  /// Number of elements of a shape already known to be sound.
  [[nodiscard]] std::uint64_t elems() const noexcept { return checked_elems().value_or(0); }

  /// "[3, 1024, 64]"; "[]" for a scalar.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  std::array<std::uint64_t, max_rank> extents_{};
  std::size_t rank_{};
};

}  // namespace offramp
