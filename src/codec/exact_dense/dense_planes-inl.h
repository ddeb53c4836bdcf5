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

void unpack(const std::uint32_t* rest, TileExtent extent, const Field& field,
            std::uint16_t* words) {
  if (lanes_of(extent) != max_lanes) return reference_kernels().unpack(rest, extent, field, words);
  for_each_piece(
      extent, field,
      [&](unsigned p, unsigned shift, std::uint32_t word, std::uint32_t first, std::uint32_t rows) {
        const Vector mask = set(((1U << p) - 1) * 0x01010101U);
        const int up = static_cast<int>(shift);
        const std::uint32_t rows_a_word = 16 / p;
        for (std::uint32_t r = 0; r < rows; r += rows_a_word, ++word) {
          const Lanes in = load_lanes(rest + word * max_lanes);
          for (std::uint32_t j = 0; j < rows_a_word && r + j < rows; j += 2) {
            std::uint16_t* at = words + (first + r + j) * pitch;
            const bool has_odd = r + j + 1 < rows;
            Lanes even = load_lanes(at);
            Lanes odd = has_odd ? load_lanes(at + pitch) : set_lanes(0);
            const int down = static_cast<int>(j / 2 * p);
            for (std::size_t i = 0; i < vectors; ++i) {
              const Vector bytes = hn::And(hn::ShiftRightSame(in[i], down), mask);
              even[i] = hn::Or(even[i], hn::ShiftLeftSame(even_row(bytes), up));
              odd[i] = hn::Or(odd[i], hn::ShiftLeftSame(odd_row(bytes), up));
            }
            store_lanes(even, at);
            if (has_odd) store_lanes(odd, at + pitch);
          }
        }
      });
}

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_PLANES_INL_H_
