// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_format.hpp"

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense {

/// Mantissa bits of a float dtype; 0 for the others.
[[nodiscard]] constexpr unsigned mantissa_bits(DType dtype) noexcept {
  switch (dtype) {
    case DType::bf16:
      return 7;
    case DType::fp16:
      return 10;
    case DType::fp32:
      return 23;
    case DType::fp64:
      return 52;
    case DType::fp8_e4m3:
      return 3;
    case DType::fp8_e5m2:
      return 2;
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::boolean:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return 0;
  }
  return 0;
}

/// fp64 exponent fields that words can name, besides 0 and the greatest, begin at this + 1.
inline constexpr std::uint32_t fp64_exponent_base = 896;

/// Whether a word can name the exponent of fp64 bits.
[[nodiscard]] constexpr bool has_word(std::uint64_t bits) noexcept {
  const auto field = static_cast<std::uint32_t>(bits >> 52) & 2047;
  return field == 0 || field == 2047 || field - fp64_exponent_base - 1 < 254;
}

/// What one pass over a tile's values finds.
struct ValueFacts {
  std::uint64_t all_and{~std::uint64_t{0}};
  std::uint64_t all_or{};
  std::uint32_t zeros{};     ///< values whose bits are all 0
  bool exponents_fit{true};  ///< false for fp64 with an exponent that has no word
};

/// `dtype` must be a float. Values that have gaps are copied to `gathered` as they are looked at:
/// what follows reads them several times.
[[nodiscard]] ValueFacts find_facts(DType dtype, tiles::ConstLines values, std::uint32_t count,
                                    std::byte* gathered);

/// Whether values of that dtype and extent are words already, and their lines the rows.
[[nodiscard]] constexpr bool is_words(DType dtype, TileExtent extent) noexcept {
  return dtype == DType::bf16 && extent.width == pitch && extent.values == extent.rows * pitch;
}

/// Makes rows of words, 0 where there is no value, and, for a rest of `rest_bits` with a subtail,
/// rows of subtails likewise.
void split_values(DType dtype, const std::byte* values, TileExtent extent, unsigned rest_bits,
                  std::uint16_t* words, std::uint16_t* subtails);

/// Writes the planes of the tail's bytes, `extent.values` each.
void write_tail_bytes(DType dtype, const std::byte* values, TileExtent extent, unsigned rest_bits,
                      std::byte* planes);

/// Puts values together again; the inverse of both. False where an exponent is none of the dtype's.
[[nodiscard]] bool join_values(DType dtype, const std::uint16_t* words,
                               const std::uint16_t* subtails, const std::byte* planes,
                               TileExtent extent, unsigned rest_bits, tiles::Lines values);

}  // namespace offramp::exact_dense
