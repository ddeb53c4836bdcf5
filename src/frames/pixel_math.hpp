// SPDX-License-Identifier: Apache-2.0
// The arithmetic of src/frames/spec.md, sample by sample: every operation is one of float32 and
// rounded on its own. The host's plain loops and the GPU's kernels are made of these; the vector
// kernels do the same operations in the same order.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define OFFRAMP_PIXEL_FN __host__ __device__ inline
#else
#define OFFRAMP_PIXEL_FN inline
#endif

namespace offramp::frames {

OFFRAMP_PIXEL_FN float mul(float a, float b) noexcept {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

OFFRAMP_PIXEL_FN float add(float a, float b) noexcept {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

/// How a source's values become 0 to 1.
struct Scaling {
  float low{};
  float high{};
  float scale{};  ///< 1 / (high - low)
};

/// NaN compares false: it becomes `low`.
OFFRAMP_PIXEL_FN float unit_of(float value, const Scaling& by) noexcept {
  const float above = value > by.low ? value : by.low;
  const float inside = above < by.high ? above : by.high;
  return mul(add(inside, -by.low), by.scale);
}

/// To the nearest integer, ties to even; `code` is in the range of 16 bits.
OFFRAMP_PIXEL_FN std::uint32_t round_code(float code) noexcept {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__float2int_rn(code));
#else
  return static_cast<std::uint32_t>(std::lrint(code));
#endif
}

OFFRAMP_PIXEL_FN std::uint32_t code_of(float unit, float top) noexcept {
  return round_code(mul(unit, top));
}

struct Rgb {
  float r{};
  float g{};
  float b{};
};

OFFRAMP_PIXEL_FN Rgb sum_of(const Rgb& a, const Rgb& b) noexcept {
  return {add(a.r, b.r), add(a.g, b.g), add(a.b, b.b)};
}

/// One row of the matrix, and what is added to its product.
struct YuvRow {
  float r{};
  float g{};
  float b{};
  float offset{};
};

/// From R'G'B' of 0 to 1 to codes.
struct YuvMatrix {
  YuvRow y{};
  YuvRow u{};  ///< of subsampled formats: of the sum of eight
  YuvRow v{};
  float top{};  ///< the largest code
};

OFFRAMP_PIXEL_FN std::uint32_t yuv_code(const YuvRow& row, float top, const Rgb& of) noexcept {
  const float product = add(add(mul(row.r, of.r), mul(row.g, of.g)), mul(row.b, of.b));
  const float code = add(product, row.offset);
  return round_code(code < top ? code : top);
}

/// The value of a half from its bits. Exact.
OFFRAMP_PIXEL_FN float half_value(std::uint16_t bits) noexcept {
  union {
    std::uint32_t word;
    float value;
  } x;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 31u;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float size = mul(static_cast<float>(mantissa), 0x1p-24f);
    return sign != 0 ? -size : size;
  }
  x.word = sign | (exponent == 31 ? 0xffu : exponent + 112u) << 23 | mantissa << 13;
  return x.value;
}

/// Likewise of a bfloat16.
OFFRAMP_PIXEL_FN float bfloat_value(std::uint16_t bits) noexcept {
  union {
    std::uint32_t word;
    float value;
  } x;
  x.word = static_cast<std::uint32_t>(bits) << 16;
  return x.value;
}

}  // namespace offramp::frames
