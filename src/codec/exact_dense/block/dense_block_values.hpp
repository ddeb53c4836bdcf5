// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact_dense/dense_format.hpp"
#include "codec/exact_dense/float_words.hpp"
#include "codec/tiles/words.hpp"

#include <cstddef>
#include <cstdint>

// Floats of any dtype as words and tails (spec.md, A value as a word). Where they lie is known at
// run time only: one piece of code for all dtypes, which compiles soon.

namespace offramp::exact_dense::block {

using exact::block::all_of;
using exact::block::any_bits;
using exact::block::count_ones;
using exact::block::div_up;
using exact::block::lesser;
using exact::block::load;
using exact::block::load_aligned;
using exact::block::lowest_one;
using exact::block::store;
using exact::block::store_aligned;
using exact::block::sum;

/// Rows of values at any address; `pitch` elements from one row to the next.
struct ValueRows {
  std::byte* first{};
  std::uint64_t pitch{};
  std::size_t elem_size{};

  [[nodiscard]] OFFRAMP_DEVICE std::byte* at(std::uint32_t row, std::uint32_t column) const {
    return first + (row * pitch + column) * elem_size;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint64_t get(std::uint32_t row, std::uint32_t column) const {
    const std::byte* const from = at(row, column);
    switch (elem_size) {
      case 1:
        return load<std::uint8_t>(from);
      case 2:
        return load<std::uint16_t>(from);
      case 4:
        return load<std::uint32_t>(from);
      default:
        return load<std::uint64_t>(from);
    }
  }
  OFFRAMP_DEVICE void set(std::uint32_t row, std::uint32_t column, std::uint64_t bits) const {
    std::byte* const to = at(row, column);
    switch (elem_size) {
      case 1:
        return store(to, static_cast<std::uint8_t>(bits));
      case 2:
        return store(to, static_cast<std::uint16_t>(bits));
      case 4:
        return store(to, static_cast<std::uint32_t>(bits));
      default:
        return store(to, bits);
    }
  }
};

/// The fields of a float dtype.
struct FloatFormat {
  unsigned mantissa{};  ///< 0: not a float
  unsigned exponent{};
  unsigned tail{};  ///< mantissa bits beyond the word's seven

  [[nodiscard]] static constexpr FloatFormat of(DType dtype) {
    const unsigned mantissa = mantissa_bits(dtype);
    return {mantissa, static_cast<unsigned>(8 * size_of(dtype)) - 1 - mantissa,
            mantissa > 7 ? mantissa - 7 : 0};
  }
  [[nodiscard]] constexpr bool is_float() const { return mantissa != 0; }
  [[nodiscard]] constexpr std::uint32_t exponent_mask() const { return (1u << exponent) - 1; }
  [[nodiscard]] constexpr std::uint64_t tail_mask() const { return (std::uint64_t{1} << tail) - 1; }

  [[nodiscard]] constexpr std::uint16_t word(std::uint64_t bits) const {
    std::uint32_t e = static_cast<std::uint32_t>(bits >> mantissa) & exponent_mask();
    if (exponent > 8) e = e == 0 ? 0 : e == exponent_mask() ? 255 : e - fp64_exponent_base;
    const std::uint64_t m = bits & ((std::uint64_t{1} << mantissa) - 1);
    const auto f = static_cast<std::uint32_t>(mantissa >= 7 ? m >> tail : m << (7 - mantissa));
    const auto sign = static_cast<std::uint32_t>(bits >> (mantissa + exponent));
    return static_cast<std::uint16_t>(sign << 15 | (e & 255) << 7 | f);
  }
  [[nodiscard]] constexpr std::uint64_t value(std::uint32_t word, std::uint64_t tail_bits) const {
    std::uint64_t e = word >> 7 & 255;
    if (exponent > 8) e = e == 0 ? 0 : e == 255 ? exponent_mask() : e + fp64_exponent_base;
    const std::uint64_t f = word & 127;
    const std::uint64_t m = mantissa >= 7 ? f << tail | tail_bits : f >> (7 - mantissa);
    return std::uint64_t{word >> 15} << (mantissa + exponent) | (e & exponent_mask()) << mantissa |
           m;
  }
  /// Whether the dtype has the exponent of such a word.
  [[nodiscard]] constexpr bool has_exponent(std::uint32_t word) const {
    return exponent > 8 || ((word >> 7 & 255) & ~exponent_mask()) == 0;
  }
};

/// How the bits behind a word are stored when `rest_bits` of the rest are.
struct TailCut {
  unsigned dropped{};    ///< low bits that are 0 in the whole tile
  unsigned byte_bits{};  ///< in byte planes; the subtail lies above
  RestShape shape{};

  [[nodiscard]] static constexpr TailCut of(const FloatFormat& format, unsigned rest_bits) {
    const RestShape shape = rest_shape(rest_bits);
    const unsigned kept = rest_bits > core_bits ? rest_bits - core_bits : 0;
    return {format.tail - kept, 8 * shape.tail_bytes, shape};
  }
  [[nodiscard]] constexpr std::uint8_t subtail(const FloatFormat& format,
                                               std::uint64_t bits) const {
    return static_cast<std::uint8_t>((bits & format.tail_mask()) >> dropped >> byte_bits);
  }
  [[nodiscard]] constexpr std::uint8_t tail_byte(std::uint64_t bits, unsigned j) const {
    return static_cast<std::uint8_t>(bits >> dropped >> (8 * j));
  }
};

[[nodiscard]] constexpr bool has_value(TileExtent extent, std::uint32_t row, std::uint32_t column) {
  return row < extent.rows && column < extent.width && row * extent.width + column < extent.values;
}

/// Rows of `pitch` words and subtails, 0 where there is no value.
template <class B>
OFFRAMP_DEVICE void split_words(B& block, const FloatFormat& format, const TailCut& cut,
                                const ValueRows& values, TileExtent extent, std::uint16_t* words,
                                std::uint8_t* subtails) {
  block.for_each(extent.rows * pitch, [&](std::uint32_t i) {
    const std::uint32_t row = i / pitch, column = i % pitch;
    const std::uint64_t bits = has_value(extent, row, column) ? values.get(row, column) : 0;
    words[i] = format.word(bits);
    if (cut.shape.subtail > 0) subtails[i] = cut.subtail(format, bits);
  });
}

/// What one look at a tile's values finds (ValueFacts).
struct Facts {
  std::uint64_t any{};
  std::uint64_t all{~std::uint64_t{}};
  std::uint32_t zeros{};
  std::uint32_t misfits{};  ///< exponents that have no word
};

template <class B>
OFFRAMP_DEVICE Facts take_facts(B& block, const FloatFormat& format, const ValueRows& values,
                                TileExtent extent) {
  const exact::block::RowDivider divider(extent.width);
  return block.reduce(
      extent.values, Facts{},
      [&](std::uint32_t k) {
        const std::uint64_t bits = values.get(divider.row(k), divider.column(k));
        return Facts{bits, bits, bits == 0 ? 1u : 0u,
                     format.exponent > 8 && !has_word(bits) ? 1u : 0u};
      },
      [](const Facts& a, const Facts& b) {
        return Facts{a.any | b.any, a.all & b.all, a.zeros + b.zeros, a.misfits + b.misfits};
      });
}

}  // namespace offramp::exact_dense::block
