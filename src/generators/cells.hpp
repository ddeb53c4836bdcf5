// SPDX-License-Identifier: Apache-2.0
// What the generators are made of: a cell is a function of a place in a grid, run for every place
// at once by the host's threads or by a kernel. Only +, -, *, / and comparisons of IEEE floats,
// with no two of them contracted into one (see CMakeLists.txt): the same bits everywhere.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define OFFRAMP_CELL_FN __host__ __device__ inline
#else
#define OFFRAMP_CELL_FN inline
#endif

namespace offramp::generators {

struct Grid {
  std::uint32_t width{};
  std::uint32_t height{};

  [[nodiscard]] constexpr std::uint64_t cells() const noexcept {
    return std::uint64_t{width} * height;
  }
};

/// The cells that a simulation runs, so that a device can load their kernels first.
template <class... Cell>
struct CellList {};

struct Rgb {
  float r{};
  float g{};
  float b{};
};

/// A row-major picture of fp32 RGB.
struct Picture {
  float* data{};
  std::uint32_t width{};

  OFFRAMP_CELL_FN void put(std::uint32_t x, std::uint32_t y, Rgb color) const {
    float* const at = data + (std::uint64_t{y} * width + x) * 3;
    at[0] = color.r;
    at[1] = color.g;
    at[2] = color.b;
  }
};

OFFRAMP_CELL_FN float at_most(float a, float b) { return a < b ? a : b; }
OFFRAMP_CELL_FN float at_least(float a, float b) { return a > b ? a : b; }
OFFRAMP_CELL_FN float clamp_unit(float a) { return at_least(0.0f, at_most(a, 1.0f)); }

/// x - floor(x), for |x| below 2^31.
OFFRAMP_CELL_FN float fraction(float x) {
  const float down = x - static_cast<float>(static_cast<std::int32_t>(x));
  return down < 0 ? down + 1.0f : down;
}

OFFRAMP_CELL_FN std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}

OFFRAMP_CELL_FN float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// Of a normal positive number, to about 2e-6.
OFFRAMP_CELL_FN float log2_of(float x) {
  const auto bits = bits_of(x);
  const float exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
  const float mantissa = float_of((bits & 0x7fffffu) | 0x3f800000u);
  const float t = (mantissa - 1.0f) / (mantissa + 1.0f);  // log(m) = 2 atanh(t)
  const float tt = t * t;
  const float series = 1.0f + tt * (1.0f / 3 + tt * (1.0f / 5 + tt * (1.0f / 7 + tt * (1.0f / 9))));
  return exponent + 2.8853900817779268f * t * series;
}

/// A wave of period 1 between 0 and 1, smooth: 0 at 0, 1 at a half.
OFFRAMP_CELL_FN float wave(float x) {
  const float up = 2.0f * fraction(x) - 1.0f;
  const float tent = 1.0f - (up < 0 ? -up : up);
  return tent * tent * (3.0f - 2.0f * tent);
}

OFFRAMP_CELL_FN std::uint32_t scramble(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

}  // namespace offramp::generators
