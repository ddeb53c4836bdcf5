// SPDX-License-Identifier: Apache-2.0
// Included once for each target by dense_simd.cpp: rest fields to lane words and back.
#if defined(OFFRAMP_DENSE_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_PLANES_INL_H_
#undef OFFRAMP_DENSE_PLANES_INL_H_
#else
#define OFFRAMP_DENSE_PLANES_INL_H_
#endif

#include "codec/exact_dense/dense_kernels.hpp"
#include "codec/exact_dense/dense_setup-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

#if OFFRAMP_DENSE_HAS_LANES

/// Bytes (row 2q, half 0), (2q, 1), (2q + 1, 0), (2q + 1, 1) of two rows of halves below 256, and
/// back.
HWY_INLINE Vector join_rows(Vector even, Vector odd) {
  const Vector low = hn::And(hn::Or(even, hn::ShiftRight<8>(even)), set(0x0000ffff));
  const Vector high =
      hn::Or(hn::ShiftLeft<16>(odd), hn::And(hn::ShiftLeft<8>(odd), set(0xff000000)));
  return hn::Or(low, high);
}

HWY_INLINE Vector even_row(Vector bytes) {
  return hn::Or(hn::And(bytes, set(0xff)), hn::And(hn::ShiftLeft<8>(bytes), set(0x00ff0000)));
}

HWY_INLINE Vector odd_row(Vector bytes) { return even_row(hn::ShiftRight<16>(bytes)); }

/// Calls f(p, shift of the piece in the word, first lane word, row, rows) for each piece of each
/// chunk.
template <class F>
HWY_INLINE void for_each_piece(TileExtent extent, const Field& field, F&& f) {
  for (std::uint32_t row = 0; row < extent.rows; row += chunk_rows) {
    const std::uint32_t rows = std::min(chunk_rows, extent.rows - row);
    std::uint32_t word = field.first_word(row / chunk_rows, rows);
    unsigned left = field.bits;
    for (unsigned p = 4; p > 0; p /= 2) {
      if ((field.bits & p) == 0) continue;
      left -= p;
      f(p, field.shift + left, word, row, rows);
      word += field_words(rows, p);
    }
  }
}

void pack(const std::uint16_t* words, TileExtent extent, const Field& field, std::uint32_t* rest) {
  if (lanes_of(extent) != max_lanes) return reference_kernels().pack(words, extent, field, rest);
  for_each_piece(
      extent, field,
      [&](unsigned p, unsigned shift, std::uint32_t word, std::uint32_t first, std::uint32_t rows) {
        const Vector mask = set(((1U << p) - 1) * 0x00010001U);
        const int down = static_cast<int>(shift);
        const std::uint32_t rows_a_word = 16 / p;
        for (std::uint32_t r = 0; r < rows; r += rows_a_word, ++word) {
          Lanes out = set_lanes(0);
          for (std::uint32_t j = 0; j < rows_a_word && r + j < rows; j += 2) {
            const std::uint16_t* at = words + (first + r + j) * pitch;
            const Lanes even = load_lanes(at);
            const Lanes odd = r + j + 1 < rows ? load_lanes(at + pitch) : set_lanes(0);
            const int up = static_cast<int>(j / 2 * p);
            for (std::size_t i = 0; i < vectors; ++i) {
              const Vector bytes = join_rows(hn::And(hn::ShiftRightSame(even[i], down), mask),
                                             hn::And(hn::ShiftRightSame(odd[i], down), mask));
              out[i] = hn::Or(out[i], hn::ShiftLeftSame(bytes, up));
            }
          }
          store_lanes(out, rest + word * max_lanes);
        }
      });
}

/// Ors pieces of p bits into rows j and j + 1 of a chunk, j even; `from` is the chunk's first lane
/// word of these pieces.
HWY_INLINE void add_pieces(unsigned p, const std::uint32_t* from, std::uint32_t j, unsigned shift,
                           Lanes& even, Lanes& odd) {
  const std::uint32_t rows_a_word = 16 / p;
  const Lanes in = load_lanes(from + j / rows_a_word * max_lanes);
  const Vector mask = set(((1U << p) - 1) * 0x01010101U);
  const int down = static_cast<int>(j % rows_a_word / 2 * p);
  const int up = static_cast<int>(shift);
  for (std::size_t i = 0; i < vectors; ++i) {
    const Vector bytes = hn::And(hn::ShiftRightSame(in[i], down), mask);
    even[i] = hn::Or(even[i], hn::ShiftLeftSame(even_row(bytes), up));
    odd[i] = hn::Or(odd[i], hn::ShiftLeftSame(odd_row(bytes), up));
  }
}

/// Both rows of a pair take all their pieces at once: `out` may be far away, and is written once.
void unpack(const std::uint32_t* rest, TileExtent extent, const Field& field,
            const std::uint16_t* words, Rows out) {
  if (lanes_of(extent) != max_lanes) {
    return reference_kernels().unpack(rest, extent, field, words, out);
  }
  for (std::uint32_t row = 0; row < extent.rows; row += chunk_rows) {
    const std::uint32_t rows = std::min(chunk_rows, extent.rows - row);
    const std::uint32_t* fours = rest + field.first_word(row / chunk_rows, rows) * max_lanes;
    const std::uint32_t* twos = fours + field_words(rows, field.bits & 4) * max_lanes;
    const std::uint32_t* ones = twos + field_words(rows, field.bits & 2) * max_lanes;
    for (std::uint32_t j = 0; j < rows; j += 2) {
      const bool has_odd = j + 1 < rows;
      const std::uint16_t* from = words + (row + j) * pitch;
      Lanes even = load_lanes(from);
      Lanes odd = has_odd ? load_lanes(from + pitch) : set_lanes(0);
      if ((field.bits & 4) != 0) {
        add_pieces(4, fours, j, field.shift + (field.bits & 3), even, odd);
      }
      if ((field.bits & 2) != 0) {
        add_pieces(2, twos, j, field.shift + (field.bits & 1), even, odd);
      }
      if ((field.bits & 1) != 0) add_pieces(1, ones, j, field.shift, even, odd);
      store_lanes(even, out[row + j]);
      if (has_odd) store_lanes(odd, out[row + j + 1]);
    }
  }
}

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_PLANES_INL_H_
