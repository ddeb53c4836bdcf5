// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_plan.hpp"

#include <cstddef>
#include <cstdint>

// What the two ends of a tile's stream have in common (spec.md, Stream).

namespace offramp::exact_dense::block {

/// A lane may put out a word behind each third step, each row with escapes, and at the end.
inline constexpr std::uint32_t step_emits = (2 * chunk_rows + 2) / 3;
inline constexpr std::uint32_t chunk_emits = chunk_rows + step_emits;
inline constexpr std::uint32_t max_emits = tiles::tile_rows / chunk_rows * chunk_emits + 1;
inline constexpr std::uint32_t max_lane_words = (2 * tiles::tile_rows * 21 + 10) / 32 + 1;
inline constexpr std::uint32_t escape_bits = 11;

/// The lanes' ends: where the decoder begins and the encoder ends, and the other way round.
struct LaneEnds {
  std::uint32_t first_state[max_lanes];  ///< the encoder's, without state_count's bit
  std::uint32_t first_buffer[max_lanes];
  std::uint32_t head[max_lanes];
  std::uint32_t head_bits[max_lanes];
  std::uint32_t buffer[max_lanes];
};

struct StreamShared {
  LaneEnds ends;
  // The encoder's: which lanes put out a word at each opportunity, and how many words come before.
  std::uint32_t emitting[max_emits];
  std::uint16_t before[max_emits];
  std::uint32_t lane_words[max_lanes];
  // The decoder's.
  struct Lane {
    std::uint64_t bits;  ///< the first bit is the highest
    std::uint32_t count;
    std::uint32_t state;       ///< without state_count's bit
    std::uint32_t escapes[2];  ///< of the chunk: a bit a row
    std::uint32_t sign_above[2];
  };
  Lane lane[max_lanes];
};

/// A word as its channel codes it.
struct CodedWord {
  std::uint32_t exponent, sign, top_bit, distance;

  [[nodiscard]] constexpr std::uint32_t symbol() const {
    return 4 * lesser(distance, 15) + 2 * sign + top_bit;
  }
  [[nodiscard]] constexpr bool is_zero() const { return (exponent | sign | top_bit) == 0; }
  [[nodiscard]] constexpr std::uint32_t payload() const {
    return 1u << 10 | exponent << 2 | sign << 1 | top_bit;
  }
};

[[nodiscard]] OFFRAMP_DEVICE inline CodedWord code_word(const std::uint16_t* words,
                                                        std::uint32_t row, std::uint32_t channel,
                                                        const Side& side) {
  const std::uint32_t word = words[row * pitch + channel];
  const bool changes = row > 0 && side.change[channel] != 0;
  const std::uint32_t above = changes ? words[(row - 1) * pitch + channel] : 0u;
  const std::uint32_t exponent = word >> 7 & 255;
  return {exponent, (word ^ above) >> 15 & 1, word >> 6 & 1, (side.top[channel] - exponent) & 255};
}

[[nodiscard]] constexpr std::uint32_t chunks_of(std::uint32_t rows) {
  return div_up(rows, chunk_rows);
}
[[nodiscard]] constexpr std::uint32_t rows_of_chunk(std::uint32_t rows, std::uint32_t chunk) {
  return lesser(chunk_rows, rows - chunk * chunk_rows);
}

/// Rest words (spec.md): where word `i` of a lane has its pieces from.
struct RestPlace {
  bool is_subtail{};
  unsigned bits{};            ///< p, of a piece
  unsigned down{};            ///< of the piece in its field
  std::uint32_t first_row{};  ///< of the word's pieces, in the tile

  [[nodiscard]] static constexpr RestPlace of(std::uint32_t rows, const RestShape& shape,
                                              std::uint32_t i) {
    const std::uint32_t a_chunk =
        field_words(chunk_rows, shape.core) + field_words(chunk_rows, shape.subtail);
    const std::uint32_t chunk = i / a_chunk;
    i -= chunk * a_chunk;
    const std::uint32_t chunk_size = rows_of_chunk(rows, chunk);
    for (unsigned field = 0; field < 2; ++field) {
      unsigned left = field == 0 ? shape.core : shape.subtail;
      for (unsigned p = 4; p > 0; p /= 2) {
        if ((left & p) == 0) continue;
        left -= p;
        const std::uint32_t words = field_words(chunk_size, p);
        if (i < words) return {field == 1, p, left, chunk * chunk_rows + 16 / p * i};
        i -= words;
      }
    }
    return {};
  }
  /// Row and half of the word's piece number v, and its shift.
  [[nodiscard]] constexpr std::uint32_t pieces() const { return 32 / bits; }
  [[nodiscard]] constexpr std::uint32_t row(std::uint32_t v) const { return first_row + v / 2; }
  [[nodiscard]] constexpr unsigned shift(std::uint32_t v) const {
    return 8 * (v % 4) + bits * (v / 4);
  }
};

/// Word `i` of a lane from the core and subtail fields.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint32_t make_rest_word(
    const std::uint16_t* words, const std::uint8_t* subtails, std::uint32_t rows,
    const RestShape& shape, std::uint32_t i, std::uint32_t lane) {
  const RestPlace place = RestPlace::of(rows, shape, i);
  // A row's end in its chunk: rows behind it are another chunk's.
  const std::uint32_t end = lesser(rows, (place.first_row / chunk_rows + 1) * chunk_rows);
  std::uint32_t word = 0;
  for (std::uint32_t v = 0; v < place.pieces() && place.row(v) < end; ++v) {
    const std::uint32_t at = place.row(v) * pitch + 2 * lane + v % 2;
    const std::uint32_t field =
        place.is_subtail ? subtails[at] : (words[at] & 63u) >> (core_bits - shape.core);
    word |= (field >> place.down & ((1u << place.bits) - 1)) << place.shift(v);
  }
  return word;
}

}  // namespace offramp::exact_dense::block
