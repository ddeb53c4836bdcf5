// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace offramp {

inline void append_varint(std::vector<std::byte>& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}

/// The next variable-length integer, or nothing where the bytes end or it does not fit 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> take_varint(ByteCursor& from) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint64_t byte = from.take<std::uint8_t>();
    const std::uint64_t bits = byte & 0x7f;
    if (!from.ok() || (bits << shift) >> shift != bits) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace offramp
