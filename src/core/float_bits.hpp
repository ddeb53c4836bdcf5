// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace offramp {

/// The value of a small IEEE-like float from its bits: sign, `exponent_bits`, `mantissa_bits`.
template <int exponent_bits, int mantissa_bits>
[[nodiscard]] inline double small_float_value(std::uint32_t bits) noexcept {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint32_t top = (1u << exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> mantissa_bits) & top;
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == top) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1u << mantissa_bits) | mantissa,
                           static_cast<int>(exponent) - bias - mantissa_bits);
}

[[nodiscard]] inline double fp16_value(std::uint16_t bits) noexcept {
  return small_float_value<5, 10>(bits);
}

[[nodiscard]] inline double bf16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[nodiscard]] inline double fp8_e5m2_value(std::uint8_t bits) noexcept {
  return small_float_value<5, 2>(bits);
}

/// OCP FP8 E4M3: no infinities; all exponent and mantissa bits set is NaN, the rest of the top
/// exponent holds ordinary values. (OCP 8-bit Floating Point Specification 1.0.)
[[nodiscard]] inline double fp8_e4m3_value(std::uint8_t bits) noexcept {
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  if ((bits & 0x78) == 0x78) {
    const double value = std::ldexp(8 | (bits & 7), 5);
    return bits & 0x80 ? -value : value;
  }
  return small_float_value<4, 3>(bits);
}

}  // namespace offramp
