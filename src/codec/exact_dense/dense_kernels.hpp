// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_format.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense {

/// What the encoder chose for a tile's channels; what a decoder read from the side data.
struct TilePlan {
  std::uint8_t form{};  ///< shared_form, tops_form or classes_form
  alignas(64) std::uint8_t top[tiles::tile_width]{};
  std::uint8_t class_of[tiles::tile_width]{};
  std::uint8_t change[tiles::tile_width]{};  ///< 1 where the sign is coded as a change
};

/// A field of each 16-bit word that goes to the rest words.
struct Field {
  unsigned shift{};                 ///< of the field in the word
  unsigned bits{};                  ///< below 8
  unsigned bits_before{};           ///< of the field that precedes it in a chunk
  std::uint32_t words_per_chunk{};  ///< of a full chunk, all fields

  /// The field's first lane word in the chunk of that number, which has `rows` rows.
  [[nodiscard]] constexpr std::uint32_t first_word(std::uint32_t chunk,
                                                   std::uint32_t rows) const noexcept {
    return chunk * words_per_chunk + field_words(rows, bits_before);
  }
};

/// The two ends of the lanes' streams. The decoder starts where the encoder ends.
struct StreamEnds {
  alignas(64) std::uint32_t first_state[max_lanes]{};  ///< the encoder's; 1024 + hidden bits
  std::uint32_t first_buffer[max_lanes]{};
  std::uint32_t head[max_lanes]{};       ///< the bits of the head as a number
  std::uint32_t head_bits[max_lanes]{};  ///< below 32
  std::uint32_t buffer[max_lanes]{};
};

/// Where rows of `pitch` words go: bf16 values that stand in lines, or a buffer.
struct Rows {
  std::uint16_t* first{};
  std::size_t step{pitch};  ///< words from one row to the next

  std::uint16_t* operator[](std::size_t row) const noexcept { return first + row * step; }
};

/// The loops over a tile, by instruction set. `words` are rows of `pitch` values in bf16's layout.
struct Kernels {
  const char* name{};

  /// Writes a field's pieces to `rest`, [word][lanes_of(extent)]; values beyond the extent must be
  /// 0.
  void (*pack)(const std::uint16_t* words, TileExtent extent, const Field& field,
               std::uint32_t* rest){};

  /// Writes `words` with the field's pieces ored in to `out`, which may be `words`: whole rows of
  /// the pitch (even beyond the extent).
  void (*unpack)(const std::uint32_t* rest, TileExtent extent, const Field& field,
                 const std::uint16_t* words, Rows out){};

  /// Codes signs, exponents and top mantissa bits from ends.first_* to `stream` (max_stream_words);
  /// fills the rest of `ends` and gives the number of words.
  std::size_t (*encode)(const std::uint16_t* words, TileExtent extent, const TilePlan& plan,
                        StreamEnds& ends, std::uint32_t* stream){};

  /// Writes words whose rest bits are 0, whole rows of the pitch, and ends.first_*. `stream` is
  /// `size` words with 16 readable behind them. False where the stream is too short or too long, or
  /// a lane does not end with one whole buffer.
  bool (*decode)(const std::uint32_t* stream, std::size_t size, TileExtent extent,
                 const TilePlan& plan, StreamEnds& ends, std::uint16_t* words){};

  /// The encoder's choice (spec.md).
  void (*choose)(const std::uint16_t* words, TileExtent extent, TilePlan& plan){};
};

/// The definition, and the fastest table that this machine runs. They make the same bytes.
const Kernels& reference_kernels() noexcept;
const Kernels& kernels() noexcept;

}  // namespace offramp::exact_dense
