// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact/exact_format.hpp"

#include <cstddef>
#include <cstdint>

// The 2-bit codes of the tiers (spec.md, Tiers), up to 8 values at a time as the bytes of a word.

namespace offramp::exact::block {

inline constexpr std::uint32_t lanes_of_block = 8;
inline constexpr std::uint32_t lane_values = block_values / lanes_of_block;
inline constexpr std::uint32_t lane_code_size = lane_values / 4;

/// The code of a value in a tier; 3 sends it on.
[[nodiscard]] constexpr std::uint32_t code_of(int tier, std::uint8_t v) {
  switch (tier) {
    case 1:
      return lesser(static_cast<std::uint8_t>(3 - v), 3);
    case 2:
      return v == 0 ? 0 : v == 4 ? 1 : v == 5 ? 2 : 3;
    case 3:
      return lesser(static_cast<std::uint8_t>(v - 6), 3);
    default:
      return v == 9 ? 0 : v == 10 ? 1 : v == 255 ? 2 : 3;
  }
}

/// v of codes 0, 1, 2 in bytes 0, 1, 2.
[[nodiscard]] constexpr std::uint32_t values_of_codes(int tier) {
  return tier == 1 ? 0x010203 : tier == 2 ? 0x050400 : tier == 3 ? 0x080706 : 0xff0a09;
}

/// The last tier that a value is coded in by code 3: 0 for none.
[[nodiscard]] constexpr std::uint32_t tiers_left_by(std::uint8_t v) {
  for (int tier = 1; tier <= 4; ++tier) {
    if (code_of(tier, v) != 3) return static_cast<std::uint32_t>(tier - 1);
  }
  return 4;
}

/// Where code t of a group of 8 stands.
[[nodiscard]] constexpr std::uint32_t code_shift(int tier, std::uint32_t t) {
  return tier == 2 ? 4 * (t % 4) + 2 * (t / 4) : 2 * t;
}

/// Bytes of n codes of a tier other than the first's blocks.
[[nodiscard]] constexpr std::uint32_t codes_size(int tier, std::uint32_t n) {
  return tier == 2 ? 2 * div_up(n, 8) : div_up(n, 4);
}

/// Codes of the low `n` <= 8 bytes of `v`.
[[nodiscard]] constexpr std::uint32_t codes_of(int tier, std::uint64_t v, std::uint32_t n) {
  std::uint32_t codes = 0;
  for (std::uint32_t t = 0; t < n; ++t)
    codes |= code_of(tier, byte_of(v, t)) << code_shift(tier, t);
  return codes;
}

/// The bits that codes after the n-th would take in the bytes of a group of `n` codes.
[[nodiscard]] constexpr std::uint32_t unused_bits(int tier, std::uint32_t n) {
  std::uint32_t used = 0;
  for (std::uint32_t t = 0; t < n; ++t) used |= 3u << code_shift(tier, t);
  return ~used & ((1u << (8 * codes_size(tier, n))) - 1);
}

/// How many of the 2-bit codes in a word are 3.
[[nodiscard]] constexpr std::uint32_t count_escapes(std::uint64_t codes) {
  return count_ones(codes & codes >> 1 & 0x5555555555555555);
}

/// v of the first `n` <= 8 codes; what is coded 3 comes from `next`, which is moved on.
OFFRAMP_DEVICE inline std::uint64_t decode_group(int tier, std::uint32_t codes, std::uint32_t n,
                                                 const std::uint8_t*& next) {
  std::uint64_t v = 0;
  for (std::uint32_t t = 0; t < n; ++t) {
    const std::uint32_t code = codes >> code_shift(tier, t) & 3;
    const std::uint8_t one = code == 3 ? *next++ : byte_of(values_of_codes(tier), code);
    v |= std::uint64_t{one} << (8 * t);
  }
  return v;
}

/// Each byte of a minus the same of b.
[[nodiscard]] constexpr std::uint64_t subtract_bytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t high = 0x8080808080808080;
  return ((a | high) - (b & ~high)) ^ ((a ^ ~b) & high);
}

/// Each value's base + 3 minus its byte is v, and base + 3 minus v is the byte.
[[nodiscard]] constexpr std::uint64_t mirror(std::uint64_t bases, std::uint64_t bytes) {
  return subtract_bytes(bases, subtract_bytes(bytes, 0x0303030303030303));
}

/// Plane bytes in the order of tier 1: item i is a lane of a block, and after the last block 8
/// values, or what is left of them.
struct TierItems {
  std::uint32_t n{};

  [[nodiscard]] constexpr std::uint32_t lanes() const {
    return static_cast<std::uint32_t>(n / block_values) * lanes_of_block;
  }
  [[nodiscard]] constexpr std::uint32_t count() const {
    return lanes() + div_up(n % block_values, 8);
  }
  [[nodiscard]] constexpr bool is_lane(std::uint32_t i) const { return i < lanes(); }
  /// The item's first value, and how many it has from there on where it is no lane.
  [[nodiscard]] constexpr std::uint32_t first(std::uint32_t i) const {
    return is_lane(i) ? i / lanes_of_block * static_cast<std::uint32_t>(block_values) +
                            i % lanes_of_block * 8
                      : lanes() * lane_values + (i - lanes()) * 8;
  }
  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t i) const {
    return lesser(8, n - first(i));
  }
  /// Where its codes begin in the section.
  [[nodiscard]] constexpr std::uint32_t codes_at(std::uint32_t i) const {
    return is_lane(i) ? i * lane_code_size : lanes() * lane_code_size + (i - lanes()) * 2;
  }
};

/// A lane's codes: u16 of column c in bits 16c to 16c + 15 of 128.
struct LaneCodes {
  std::uint64_t low{}, high{};

  [[nodiscard]] static constexpr std::uint32_t shift(std::uint32_t row, std::uint32_t column) {
    return 16 * (column % 4) + 14 - 2 * row;
  }
  constexpr void set(std::uint32_t row, std::uint32_t column, std::uint32_t code) {
    (column < 4 ? low : high) |= std::uint64_t{code} << shift(row, column);
  }
  /// The row's codes in the order of a group.
  [[nodiscard]] constexpr std::uint32_t of_row(std::uint32_t row) const {
    std::uint32_t codes = 0;
    for (std::uint32_t c = 0; c < 8; ++c) {
      codes |= static_cast<std::uint32_t>((c < 4 ? low : high) >> shift(row, c) & 3) << (2 * c);
    }
    return codes;
  }
};

}  // namespace offramp::exact::block
