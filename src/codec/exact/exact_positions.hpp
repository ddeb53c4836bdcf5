// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_workspace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::exact {

inline constexpr std::size_t sparse_header_size = 16;

/// Which values of a sparse tile follow (spec.md, Sparse). `rows` have `width` values, the last
/// may have fewer.
struct SparseTile {
  std::size_t n{};
  std::size_t rows{};
  std::size_t width{};
  std::size_t elem_size{};
};

/// What is left of a sparse tile: `n` values, in rows of the tile's width if `by_channel`.
struct SparseRest {
  std::size_t n{};
  bool by_channel{};
  std::size_t body_size{};  ///< of header and positions
};

/// Moves the values that stay to `kept` (scratch) and writes header and positions to `body`.
/// n is 0 where the tile is not sparse enough for it.
SparseRest encode_positions(SparseTile tile, tiles::ConstLines values, std::byte* kept,
                            std::byte* body);

/// Reads header and positions from untrusted `body`, once to know what follows ...
bool read_positions(SparseTile tile, std::span<const std::byte> body, SparseRest& rest);

/// ... and once it is decoded to `kept`, to put it in place among zeros. `body` as just read.
/// False where the positions contradict themselves; only then may `values` hold less than n values.
bool scatter(SparseTile tile, std::span<const std::byte> body, const SparseRest& rest,
             const std::byte* kept, tiles::Lines values);

}  // namespace offramp::exact
