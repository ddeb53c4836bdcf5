// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>
#include <offramp/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp {

/// What a tensor is, without its bytes.
struct TensorDesc {
  DType dtype{DType::u8};
  Shape shape{};

  /// Size of the contiguous tensor in bytes, or nothing where it does not fit 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> checked_size() const noexcept;

  /// Size in bytes of a tensor already known to be sound.
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(shape.elems()) * size_of(dtype);
  }

  friend bool operator==(const TensorDesc&, const TensorDesc&) noexcept = default;
};

/// Contiguous, row-major, little-endian host tensor that somebody else owns.
struct TensorView {
  TensorDesc desc{};
  std::span<const std::byte> bytes{};
};

}  // namespace offramp
