// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_tile.hpp"
#include "codec/exact_dense/float_words.hpp"
#include "contract/strided_tile.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace offramp::exact_dense {

using Bytes = std::vector<std::byte>;

inline constexpr DType float_dtypes[] = {DType::bf16, DType::fp16,     DType::fp32,
                                         DType::fp64, DType::fp8_e4m3, DType::fp8_e5m2};
inline constexpr TileExtent full{256, 64, 16384};

inline TileExtent extent_of(std::uint32_t rows, std::uint32_t width, std::uint32_t missing = 0) {
  return {rows, width, rows * width - missing};
}

inline std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) all.push_back(*dtype_from_id(id));
  return all;
}

/// mt19937 that gives 32-bit numbers.
class Engine {
 public:
  using result_type = std::uint32_t;

  explicit Engine(std::uint32_t seed = 1) : engine_(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return static_cast<result_type>(engine_()); }

 private:
  std::mt19937 engine_;
};

/// 64-byte aligned storage, as the tile coder's callers owe it.
class Aligned {
 public:
  explicit Aligned(std::size_t size)
      : bytes_(static_cast<std::byte*>(std::aligned_alloc(64, round_up(size, 64)))) {}
  std::byte* get() { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

/// Each of the targets that this machine runs, chosen in turn; calls f(kernels()) under it.
inline void for_each_target(const std::function<void(const Kernels&)>& f) {
  auto targets = static_cast<std::uint64_t>(hwy::SupportedTargets());
  while (targets != 0) {
    const std::uint64_t target = targets & (~targets + 1);
    targets ^= target;
    hwy::SetSupportedTargetsForTest(static_cast<std::int64_t>(target));
    SCOPED_TRACE(hwy::TargetName(static_cast<std::int64_t>(target)));
    f(kernels());
  }
  hwy::SetSupportedTargetsForTest(0);
}

struct Coded {
  tiles::TileMode mode{};
  Bytes body, heap;

  [[nodiscard]] std::size_t size() const { return body.size() + heap.size(); }
  bool operator==(const Coded&) const = default;
};

/// Encodes between guard bytes, which must survive.
inline Coded encode(const Kernels& with, DType dtype, TileExtent extent, const Bytes& values) {
  const tiles::TileCoder& coder = tiles::exact_dense_tile_coder();
  constexpr std::size_t guard = 64;
  constexpr std::byte mark{0xa5};
  EXPECT_EQ(values.size(), extent.values * size_of(dtype));
  Bytes readable = values;
  readable.resize(values.size() + tiles::read_slack, std::byte{0x5a});
  Bytes body(coder.max_body_size(dtype) + guard, mark);
  Bytes heap(coder.max_heap_size(dtype) + guard, mark);
  Aligned scratch(coder.scratch_size(dtype));
  const auto coded = encode_tile(with, dtype, extent,
                                 tiles::ConstLines::without_gaps(readable.data(), size_of(dtype)),
                                 body.data(), heap.data(), scratch.get());
  const auto kept = [&](const Bytes& bytes) {
    return std::all_of(bytes.end() - guard, bytes.end(), [](std::byte b) { return b == mark; });
  };
  EXPECT_TRUE(kept(body) && kept(heap)) << "the encoder wrote beyond its bounds";
  EXPECT_EQ(coded.body_size % tiles::section_alignment, 0U);
  EXPECT_EQ(coded.heap_size % tiles::section_alignment, 0U);
  const std::size_t raw = round_up(values.size(), tiles::section_alignment);
  EXPECT_LE(std::size_t{coded.body_size} + coded.heap_size, raw);
  if (coded.mode == plain_mode) {
    EXPECT_EQ(coder.nominal_body_size(dtype, extent, coded.mode), coded.body_size);
  }
  body.resize(coded.body_size);
  heap.resize(coded.heap_size);
  return {coded.mode, std::move(body), std::move(heap)};
}

/// A copy whose end is the end of its allocation, so that the sanitizers see an over-read.
inline std::unique_ptr<std::byte[]> exact_copy(const Bytes& bytes) {
  auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

/// Decodes into exactly the tile's bytes; nothing where the decoder refuses.
inline std::optional<Bytes> decode(const Kernels& with, DType dtype, TileExtent extent,
                                   const Coded& coded) {
  constexpr std::size_t guard = 64;
  constexpr std::byte mark{0xa5};
  const std::size_t size = extent.values * size_of(dtype);
  Bytes values(guard + size + guard, mark);
  Aligned scratch(tiles::exact_dense_tile_coder().scratch_size(dtype));
  const auto body = exact_copy(coded.body);
  const auto heap = exact_copy(coded.heap);
  const bool good =
      decode_tile(with, dtype, extent, coded.mode, {body.get(), coded.body.size()},
                  {heap.get(), coded.heap.size()},
                  tiles::Lines::without_gaps(values.data() + guard, size_of(dtype)), scratch.get());
  const auto untouched = [&](auto from, auto to) {
    return std::all_of(from, to, [](std::byte b) { return b == mark; });
  };
  EXPECT_TRUE(untouched(values.begin(), values.begin() + guard)) << "wrote before the values";
  EXPECT_TRUE(untouched(values.end() - guard, values.end())) << "wrote behind the values";
  if (!good) return std::nullopt;
  return Bytes(values.begin() + guard, values.end() - guard);
}

/// Whether a full-width tile in lines with gaps gives `coded`, and `coded` these values, with
/// nothing touched in the gaps.
inline void check_lines(const Kernels& with, DType dtype, TileExtent extent, const Bytes& values,
                        const Coded& coded, std::size_t gap) {
  SCOPED_TRACE("gap " + std::to_string(gap));
  const tiles::TileCoder& coder = tiles::exact_dense_tile_coder();
  const std::size_t line = (tiles::tile_width + gap) * size_of(dtype);
  tiles::StridedTile in(extent.values, size_of(dtype), line, tiles::read_slack);
  in.fill(values);
  Bytes body(coder.max_body_size(dtype)), heap(coder.max_heap_size(dtype));
  Aligned scratch(coder.scratch_size(dtype));
  const auto tile =
      encode_tile(with, dtype, extent, in.lines(), body.data(), heap.data(), scratch.get());
  body.resize(tile.body_size);
  heap.resize(tile.heap_size);
  EXPECT_TRUE((Coded{tile.mode, std::move(body), std::move(heap)}) == coded);

  tiles::StridedTile out(extent.values, size_of(dtype), line, 0);
  EXPECT_TRUE(decode_tile(with, dtype, extent, coded.mode, coded.body, coded.heap, out.lines(),
                          scratch.get()));
  EXPECT_TRUE(out.values() == values);
  EXPECT_TRUE(out.is_whole_between());
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::uint16_t bf16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Bits of `x` in a dtype, cut, not rounded; x must be within its normal range or 0.
inline std::uint64_t bits_in(DType dtype, double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const unsigned mantissa = mantissa_bits(dtype);
  const unsigned width = static_cast<unsigned>(8 * size_of(dtype));
  const unsigned exponent_bits = width - 1 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint64_t sign = bits >> 63 << (width - 1);
  const int e = static_cast<int>(bits >> 52 & 2047) - 1023 + bias;
  if (x == 0 || e <= 0) return sign;
  const int greatest = (1 << exponent_bits) - 1;
  return sign | static_cast<std::uint64_t>(std::min(e, greatest)) << mantissa |
         (bits & ((std::uint64_t{1} << 52) - 1)) >> (52 - mantissa);
}

/// Makes values by f(row, channel).
template <class F>
Bytes make_values(DType dtype, TileExtent extent, F&& f) {
  const std::size_t size = size_of(dtype);
  Bytes bytes(extent.values * size);
  for (std::uint32_t i = 0; i < extent.values; ++i) {
    const std::uint64_t bits = bits_in(dtype, f(i / extent.width, i % extent.width));
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

/// Channels of their own scale, a spread of `octaves` powers of two.
inline Bytes normal_channels(DType dtype, TileExtent extent, std::uint32_t seed, int octaves = 4) {
  Engine random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> scale(extent.width);
  for (double& s : scale) s = std::exp2(std::uniform_real_distribution<>(-octaves, 0)(random));
  return make_values(dtype, extent,
                     [&](std::uint32_t, std::uint32_t c) { return normal(random) * scale[c]; });
}

inline Bytes random_bytes(std::size_t size, std::uint32_t seed) {
  Engine random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Encodes, decodes, compares; gives the tile.
inline Coded round_trip(const Kernels& with, DType dtype, TileExtent extent, const Bytes& values) {
  Coded coded = encode(with, dtype, extent, values);
  const auto back = decode(with, dtype, extent, coded);
  EXPECT_TRUE(back.has_value()) << "mode " << int{coded.mode};
  if (back) {
    EXPECT_TRUE(*back == values) << "mode " << int{coded.mode};
  }
  if (extent.width == tiles::tile_width) {
    check_lines(with, dtype, extent, values, coded, tiles::next_line_gap());
  }
  return coded;
}

}  // namespace offramp::exact_dense
