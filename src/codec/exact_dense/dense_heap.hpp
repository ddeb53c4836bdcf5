// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp::exact_dense {

/// A heap piece as the decoder needs it; `stream` points into it.
struct HeapPiece {
  TilePlan plan;
  StreamEnds ends;
  std::uint8_t rest_bits{};
  std::span<const std::byte> stream;  ///< whole words
  std::size_t readable_behind_stream{};
};

/// Bytes of the piece, a multiple of section_alignment.
[[nodiscard]] std::size_t heap_piece_size(TileExtent extent, const TilePlan& plan,
                                          const StreamEnds& ends, std::size_t words);

/// Writes exactly heap_piece_size() bytes.
void write_heap_piece(TileExtent extent, const TilePlan& plan, const StreamEnds& ends,
                      unsigned rest_bits, std::span<const std::uint32_t> stream, std::byte* heap);

/// Nothing where the bytes are no piece of that extent: sizes, paddings and unused fields are
/// checked.
[[nodiscard]] std::optional<HeapPiece> read_heap_piece(TileExtent extent,
                                                       std::span<const std::byte> heap);

}  // namespace offramp::exact_dense
