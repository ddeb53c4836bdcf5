// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace offramp::tiles {

/// Rows of equal size at two pitches, all in bytes.
struct RowCopy {
  std::size_t rows{};
  std::size_t size{};
  std::size_t from_pitch{};
  std::size_t to_pitch{};
};

/// Copies rows between a tile and a chunk. Copies of a size known at compile time were tried: the
/// calls to memcpy, which uses wider registers than this build may, are a quarter faster.
inline void copy_rows(const RowCopy& copy, const std::byte* from, std::byte* to) noexcept {
  for (std::size_t row = 0; row < copy.rows; ++row) {
    std::memcpy(to, from, copy.size);
    from += copy.from_pitch;
    to += copy.to_pitch;
  }
}

}  // namespace offramp::tiles
