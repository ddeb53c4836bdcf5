// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_kernels.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact {

/// Upper bounds for a tile of values of that size. A body in mode 2 or 3 that grows beyond raw is
/// dropped, but it is written first: positions, headers and padding come on top.
[[nodiscard]] constexpr std::size_t max_body_size(std::size_t elem_size) noexcept {
  return padded(tile_values * elem_size) + tile_values / 4 + tile_values / 8 + 1024;
}
inline constexpr std::size_t max_heap_size =
    starts_size(tile_values) + tile_width + max_pieces * max_piece_heap + slack;

/// The buffers of one call, carved from the caller's scratch. Each has `slack` bytes behind it.
struct Workspace {
  Planes planes{};
  std::uint8_t* stream[2]{};  ///< v of one piece
  std::uint8_t* codes{};      ///< one piece's codes or heap
  std::byte* values{};        ///< what a sparse tile keeps
  std::byte* other_body{};    ///< a second attempt
  std::byte* other_heap{};

  [[nodiscard]] static constexpr std::size_t size(std::size_t planes, std::size_t elem_size) {
    return planes * plane_stride + 2 * (piece_values + slack) + max_piece_heap + slack +
           tile_values * elem_size + slack + max_body_size(elem_size) + slack + max_heap_size +
           slack;
  }

  Workspace(std::byte* scratch, std::size_t plane_count, std::size_t elem_size) noexcept {
    const auto take = [&](std::size_t bytes) {
      std::byte* at = scratch;
      scratch += bytes + slack;
      return at;
    };
    const auto take_u8 = [&](std::size_t bytes) {
      return reinterpret_cast<std::uint8_t*>(take(bytes));
    };
    for (std::size_t p = 0; p < plane_count; ++p) planes[p] = take_u8(tile_values);
    stream[0] = take_u8(piece_values);
    stream[1] = take_u8(piece_values);
    codes = take_u8(max_piece_heap);
    values = take(tile_values * elem_size);
    other_body = take(max_body_size(elem_size));
    other_heap = take(max_heap_size);
  }
};

}  // namespace offramp::exact
