// SPDX-License-Identifier: Apache-2.0
// What a warp does with the bytes of a piece: 2048 values of bf16, of which each lane holds 8 rows
// of 8 channels, two values in a word.
#pragma once

#include <cstdint>

namespace offramp::exact::gpu {

inline constexpr std::uint32_t all_lanes = 0xffffffffu;

/// A word of two bf16 values rotated left by one holds the exponents in bytes 1 and 3, and in bytes
/// 0 and 2 the mantissas with the sign of the neighbour (spec.md, Planes).
__device__ __forceinline__ std::uint32_t to_planes(std::uint32_t word) {
  return __funnelshift_l(word, word, 1);
}
__device__ __forceinline__ std::uint32_t from_planes(std::uint32_t word) {
  return __funnelshift_r(word, word, 1);
}

/// Bytes 1 and 3 as two halves.
__device__ __forceinline__ std::uint32_t exponents_of(std::uint32_t planes) {
  return __byte_perm(planes, 0, 0x4341);
}

/// The low two, or high two, bytes of a word as two halves.
__device__ __forceinline__ std::uint32_t widen_low(std::uint32_t bytes) {
  return __byte_perm(bytes, 0, 0x4140);
}
__device__ __forceinline__ std::uint32_t widen_high(std::uint32_t bytes) {
  return __byte_perm(bytes, 0, 0x4342);
}

/// Bit 2i for each 2-bit code that is 3.
__device__ __forceinline__ std::uint32_t escapes_of(std::uint32_t codes) {
  return codes & (codes >> 1) & 0x55555555u;
}

/// In assembly, as the shuffle itself says which lanes have one to add; the compiler asks again.
__device__ __forceinline__ std::uint32_t inclusive_scan(std::uint32_t x) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    asm volatile("{.reg .pred p; .reg .b32 t; shfl.sync.up.b32 t|p,%0,%1,0,-1; @p add.u32 %0,%0,t;}"
                 : "+r"(x)
                 : "r"(step));
  }
  return x;
}

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// Appends byte `byte` of `value` at the shared address `at` where bit `bit` of `mask` is set, and
/// moves `at` on. The bit itself is added: a predicated increment would wait until the store before
/// it has read the address.
template <int bit, int byte>
__device__ __forceinline__ void push(std::uint32_t& at, std::uint32_t mask, std::uint32_t value) {
  const std::uint32_t masked = mask & (1u << bit);
  asm volatile("{.reg .pred p; setp.ne.u32 p,%2,0; @p st.shared.u8 [%0],%1;}"
               :
               : "r"(at), "r"(value >> (8 * byte)), "r"(masked)
               : "memory");
  at += masked >> bit;
}

/// Adds `factor` times the byte at the shared address `at` to `sum` where bit `bit` of `mask` is
/// set, and moves `at` on. Here the predicated increment is the better one: the decoder has no
/// registers for the other.
template <int bit, std::uint32_t factor>
__device__ __forceinline__ void pop(std::uint32_t& at, std::uint32_t mask, std::uint32_t& sum) {
  asm volatile(
      "{.reg .pred p; .reg .b32 t; and.b32 t,%2,%3; setp.ne.u32 p,t,0; @p ld.shared.u8 t,[%0]; "
      "@p add.u32 %0,%0,1; @p mad.lo.u32 %1,t,%4,%1;}"
      : "+r"(at), "+r"(sum)
      : "r"(mask), "n"(1u << bit), "n"(factor));
}

}  // namespace offramp::exact::gpu
