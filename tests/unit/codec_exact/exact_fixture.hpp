// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_tile.hpp"
#include "codec/tiles/tile.hpp"
#include "contract/strided_tile.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace offramp::exact {

using Bytes = std::vector<std::byte>;

inline std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) all.push_back(*dtype_from_id(id));
  return all;
}

/// A tile's extent with a full last row, or one of `values` in rows of `width`.
inline tiles::TileExtent extent_of(std::uint32_t rows, std::uint32_t width) {
  return {rows, width, rows * width};
}
inline tiles::TileExtent ragged(std::uint32_t values, std::uint32_t width) {
  return {static_cast<std::uint32_t>(ceil_div(values, width)), width, values};
}

struct Coded {
  tiles::TileMode mode{};
  Bytes body;
  Bytes heap;
  [[nodiscard]] std::size_t size() const { return body.size() + heap.size(); }
  friend bool operator==(const Coded&, const Coded&) = default;
};

inline constexpr std::byte guard{0xa5};
inline constexpr std::size_t guard_size = 64;

/// 64-byte aligned scratch, enough for any dtype, that keeps what the last call left in it.
inline std::byte* scratch() {
  static Bytes bytes(tiles::exact_tile_coder().scratch_size(DType::fp64) + 64, std::byte{0x5a});
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  return bytes.data() + (64 - at % 64) % 64;
}

inline Coded encode(const Kernels& kernels, DType dtype, tiles::TileExtent extent,
                    std::span<const std::byte> values) {
  const auto& coder = tiles::exact_tile_coder();
  Bytes padded_values(values.begin(), values.end());
  padded_values.resize(values.size() + tiles::read_slack, std::byte{0xff});
  Coded out;
  out.body.assign(coder.max_body_size(dtype) + guard_size, guard);
  out.heap.assign(coder.max_heap_size(dtype) + guard_size, guard);
  const auto lines = tiles::ConstLines::without_gaps(padded_values.data(), size_of(dtype));
  const auto tile =
      encode_tile(kernels, dtype, extent, lines, out.body.data(), out.heap.data(), scratch());
  for (std::size_t i = 0; i < guard_size; ++i) {
    EXPECT_EQ(out.body[out.body.size() - 1 - i], guard);
    EXPECT_EQ(out.heap[out.heap.size() - 1 - i], guard);
  }
  EXPECT_EQ(tile.body_size % tiles::section_alignment, 0u);
  EXPECT_EQ(tile.heap_size % tiles::section_alignment, 0u);
  const std::size_t nominal = coder.nominal_body_size(dtype, extent, tile.mode);
  EXPECT_EQ(nominal, tile.mode >= planes_mode ? 0 : tile.body_size);
  out.mode = tile.mode;
  out.body.resize(tile.body_size);
  out.heap.resize(tile.heap_size);
  out.body.shrink_to_fit();
  out.heap.shrink_to_fit();
  EXPECT_LE(out.size(), round_up(values.size(), tiles::section_alignment));
  return out;
}

/// The kind of bases of a tile with tiers; it stands in the high byte of the first start.
inline Bases bases_of(const Coded& coded) { return static_cast<Bases>(coded.heap.at(1)); }

/// Decodes from buffers of exactly the coded sizes; checks that nothing around the values changed.
inline bool decode(const Kernels& kernels, DType dtype, tiles::TileExtent extent,
                   const Coded& coded, Bytes& values) {
  const std::size_t size = extent.values * size_of(dtype);
  Bytes guarded(size + 2 * guard_size, guard);
  const bool ok = decode_tile(
      kernels, dtype, extent, coded.mode, coded.body, coded.heap,
      tiles::Lines::without_gaps(guarded.data() + guard_size, size_of(dtype)), scratch());
  for (std::size_t i = 0; i < guard_size; ++i) {
    EXPECT_EQ(guarded[i], guard);
    EXPECT_EQ(guarded[guard_size + size + i], guard);
  }
  values.assign(guarded.begin() + guard_size,
                guarded.begin() + guard_size + static_cast<long>(size));
  return ok;
}

/// Whether a full-width tile in lines with gaps gives `coded`, and `coded` these values, with
/// nothing touched in the gaps.
inline void check_lines(const Kernels& kernels, DType dtype, tiles::TileExtent extent,
                        std::span<const std::byte> values, const Coded& coded, std::size_t gap) {
  SCOPED_TRACE(std::string(name_of(dtype)) + " gap " + std::to_string(gap));
  const auto& coder = tiles::exact_tile_coder();
  const std::size_t size = size_of(dtype), pitch = (tile_width + gap) * size;
  tiles::StridedTile in(extent.values, size, pitch, tiles::read_slack);
  in.fill(values);
  Bytes body(coder.max_body_size(dtype)), heap(coder.max_heap_size(dtype));
  const auto tile =
      encode_tile(kernels, dtype, extent, in.lines(), body.data(), heap.data(), scratch());
  body.resize(tile.body_size);
  heap.resize(tile.heap_size);
  EXPECT_TRUE((Coded{tile.mode, body, heap}) == coded);

  tiles::StridedTile out(extent.values, size, pitch, 0);
  EXPECT_TRUE(decode_tile(kernels, dtype, extent, coded.mode, coded.body, coded.heap, out.lines(),
                          scratch()));
  const Bytes back = out.values();
  EXPECT_TRUE(std::equal(back.begin(), back.end(), values.begin(), values.end()));
  EXPECT_TRUE(out.is_whole_between());
}

/// Encodes with the fast and the reference kernels, compares, and decodes with both.
inline Coded check_round_trip(DType dtype, tiles::TileExtent extent,
                              std::span<const std::byte> values) {
  const Coded fast = encode(fast_kernels(), dtype, extent, values);
  const Coded reference = encode(reference_kernels(), dtype, extent, values);
  EXPECT_EQ(fast.mode, reference.mode);
  EXPECT_TRUE(fast == reference) << name_of(dtype) << " " << extent.rows << "x" << extent.width;
  for (const Kernels* kernels : {&fast_kernels(), &reference_kernels()}) {
    Bytes back;
    EXPECT_TRUE(decode(*kernels, dtype, extent, fast, back))
        << name_of(dtype) << " mode " << int{fast.mode};
    EXPECT_TRUE(std::equal(back.begin(), back.end(), values.begin(), values.end()))
        << name_of(dtype) << " mode " << int{fast.mode};
    if (extent.width != tile_width) continue;
    check_lines(*kernels, dtype, extent, values, fast, tiles::next_line_gap());
  }
  return fast;
}

template <class T>
Bytes bytes_of_values(const std::vector<T>& values) {
  const auto view = std::as_bytes(std::span(values));
  return {view.begin(), view.end()};
}

/// The bits of a float in a shorter format of the same exponent, rounded towards zero.
inline std::uint16_t bf16_bits(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

/// Values as a layer has them: every channel its own scale, Gaussian within.
inline std::vector<float> channel_values(tiles::TileExtent extent, unsigned seed,
                                         float scale_spread = 2.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> scale(extent.width), values(extent.values);
  for (float& s : scale) s = std::exp2(scale_spread * normal(random));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = normal(random) * scale[k % extent.width];
  return values;
}

/// The same for any dtype: floats rounded, integers as they come from a range of their own.
Bytes values_for(DType dtype, tiles::TileExtent extent, unsigned seed);

}  // namespace offramp::exact
