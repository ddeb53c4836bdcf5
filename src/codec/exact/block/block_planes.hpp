// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact/exact_format.hpp"

#include <cstddef>
#include <cstdint>

// Byte planes and bit planes (spec.md, Form), 8 values at a time: planes in scratch are aligned and
// have room for whole groups of 8.

namespace offramp::exact::block {

/// The value whose byte group i of 8 bytes of a byte plane begins with: lanes' bytes of two rows
/// stand together, the tail's as they are.
[[nodiscard]] constexpr std::uint32_t first_of_group(std::uint32_t i, std::uint32_t n) {
  constexpr std::uint32_t groups = block_values / 8;
  const std::uint32_t in_block = i % groups;
  if (i / groups >= n / block_values) return 8 * i;
  const std::uint32_t row = in_block / 16 * 2 + in_block % 2, lane = in_block / 2 % 8;
  return (i - in_block) * 8 + row * 64 + lane * 8;
}

template <class B>
OFFRAMP_DEVICE void store_bytes(B& block, const std::uint8_t* plane, std::uint32_t n,
                                std::uint8_t* packed) {
  block.for_each(div_up(n, 8), [&](std::uint32_t i) {
    const std::uint32_t size = lesser(8, n - 8 * i);
    store_some(packed + 8 * i, load_group(plane + first_of_group(i, n), size), size);
  });
}

template <class B>
OFFRAMP_DEVICE void load_bytes(B& block, const std::uint8_t* packed, std::uint32_t n,
                               std::uint8_t* plane) {
  block.for_each(div_up(n, 8), [&](std::uint32_t i) {
    store_group(plane + first_of_group(i, n), load_some(packed + 8 * i, lesser(8, n - 8 * i)));
  });
}

inline constexpr std::uint64_t low_bit_of_bytes = 0x0101010101010101;

/// Bit `bit` of 8 bytes as the bits of one, and back.
[[nodiscard]] constexpr std::uint8_t gather_bit(std::uint64_t bytes, int bit) {
  return static_cast<std::uint8_t>(((bytes >> bit & low_bit_of_bytes) * 0x0102040810204080) >> 56);
}
[[nodiscard]] constexpr std::uint64_t spread_bit(std::uint8_t bits, int bit) {
  const std::uint64_t one_each = (bits * low_bit_of_bytes) & 0x8040201008040201;
  return ((one_each + 0x7f7f7f7f7f7f7f7f) >> 7 & low_bit_of_bytes) << bit;
}

template <class B>
OFFRAMP_DEVICE void store_bits(B& block, const std::uint8_t* plane, std::uint32_t n,
                               std::uint8_t mask, std::uint8_t* packed) {
  const std::uint32_t stride = div_up(n, 8);
  block.for_each(stride, [&](std::uint32_t i) {
    const std::uint64_t bytes = load_group(plane + 8 * i, lesser(8, n - 8 * i));
    std::uint8_t* to = packed + i;
    for (int bit = 0; bit < 8; ++bit) {
      if (!(mask >> bit & 1)) continue;
      *to = gather_bit(bytes, bit);
      to += stride;
    }
  });
}

/// False where a bit does not vary, or bits are set behind the last value's.
template <class B>
OFFRAMP_DEVICE bool load_bits(B& block, const std::uint8_t* packed, std::uint32_t n,
                              std::uint8_t mask, std::uint8_t constant, std::uint8_t* plane) {
  const std::uint32_t stride = div_up(n, 8);
  struct Seen {
    std::uint32_t ones, zeros, behind;  // by bit of the mask
  };
  const Seen seen = block.reduce(
      stride, Seen{},
      [&](std::uint32_t i) {
        const std::uint32_t valid = (1u << lesser(8, n - 8 * i)) - 1;
        Seen group{};
        std::uint64_t bytes = constant * low_bit_of_bytes;
        const std::uint8_t* from = packed + i;
        for (int bit = 0; bit < 8; ++bit) {
          if (!(mask >> bit & 1)) continue;
          const std::uint8_t bits = *from;
          from += stride;
          bytes |= spread_bit(bits, bit);
          group.ones |= bits != 0 ? 1u << bit : 0u;
          group.zeros |= (~bits & valid) != 0 ? 1u << bit : 0u;
          group.behind |= bits & ~valid;
        }
        store_group(plane + 8 * i, bytes);
        return group;
      },
      [](const Seen& a, const Seen& b) {
        return Seen{a.ones | b.ones, a.zeros | b.zeros, a.behind | b.behind};
      });
  return seen.ones == mask && seen.zeros == mask && seen.behind == 0;
}

/// The bits that any of a plane's bytes has.
template <class B>
OFFRAMP_DEVICE std::uint8_t bits_of_plane(B& block, const std::uint8_t* plane, std::uint32_t n) {
  std::uint64_t any = any_bits<std::uint64_t>(block, div_up(n, 8), [&](std::uint32_t i) {
    return load_group(plane + 8 * i, lesser(8, n - 8 * i));
  });
  any |= any >> 32;
  any |= any >> 16;
  return static_cast<std::uint8_t>(any | any >> 8);
}

/// Packs a byte, 0 or 1, for each of n bits, as bits.
template <class B>
OFFRAMP_DEVICE void pack_flags(B& block, const std::uint8_t* flags, std::uint32_t n,
                               std::uint8_t* packed) {
  store_bits(block, flags, n, 1, packed);
}

}  // namespace offramp::exact::block
