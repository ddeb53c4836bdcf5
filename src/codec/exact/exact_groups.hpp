// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// Tables for eight values at a time, where the processor has no byte compress and expand, and the
// arithmetic that packs 2-bit codes.

namespace offramp::exact {

/// For each mask of 8 lanes, the byte shuffle that moves the chosen lanes to the front.
inline constexpr auto compress_shuffles = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::size_t at = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane) {
      if (mask >> lane & 1) table[mask][at++] = lane;
    }
  }
  return table;
}();

/// The inverse: successive bytes to the chosen lanes, 0 to the others.
inline constexpr auto expand_shuffles = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint8_t at = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      table[mask][lane] = mask >> lane & 1 ? at++ : std::uint8_t{0x80};
    }
  }
  return table;
}();

/// v of code 0, 1, 2 of a tier (spec.md, Tiers); 0 for "next tier".
inline constexpr std::uint8_t v_of_code[5][4] = {
    {}, {3, 2, 1, 0}, {0, 4, 5, 0}, {6, 7, 8, 0}, {9, 10, 255, 0}};

/// v of the four codes in a byte, by tier; 0 for "next tier".
inline constexpr auto v_of_codes = [] {
  std::array<std::array<std::uint32_t, 256>, 5> table{};
  for (std::size_t tier = 1; tier <= 4; ++tier) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (unsigned t = 0; t < 4; ++t) {
        table[tier][byte] |= std::uint32_t{v_of_code[tier][byte >> (2 * t) & 3]} << (8 * t);
      }
    }
  }
  return table;
}();

/// Eight codes in the low bits of eight bytes, packed to 16 bits, first one lowest.
[[nodiscard]] constexpr std::uint16_t pack_codes(std::uint64_t x) noexcept {
  x = (x | x >> 6) & 0x000f000f000f000f;
  x = (x | x >> 12) & 0x000000ff000000ff;
  return static_cast<std::uint16_t>(x | x >> 24);
}

/// The same in the order of tier 2, where codes t and t + 4 share a nibble.
[[nodiscard]] constexpr std::uint16_t pack_tier2_codes(std::uint64_t x) noexcept {
  x = (x | x >> 30) & 0x0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff;
  return static_cast<std::uint16_t>(x | x >> 8);
}

/// Eight codes from the order of tier 2 to the plain one.
[[nodiscard]] constexpr std::uint16_t plain_order(std::uint16_t tier2) noexcept {
  const auto gather = [](std::uint32_t x) {
    x = (x | x >> 2) & 0x0f0f;
    return (x | x >> 4) & 0xff;
  };
  return static_cast<std::uint16_t>(gather(tier2 & 0x3333u) | gather(tier2 >> 2 & 0x3333u) << 8);
}

/// A bit for each of eight codes that is 3.
[[nodiscard]] constexpr unsigned escape_mask(std::uint16_t codes) noexcept {
  unsigned x = codes & codes >> 1 & 0x5555u;
  x = (x | x >> 1) & 0x3333;
  x = (x | x >> 2) & 0x0f0f;
  return (x | x >> 4) & 0xff;
}

}  // namespace offramp::exact
