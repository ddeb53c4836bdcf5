// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_tile.hpp"
#include "codec/exact/exact_kernels.hpp"
#include "cpu_block.hpp"

#include <offramp/core/shape.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace offramp::exact::block {

using ByteVector = std::vector<std::byte>;

/// A tile as a coder made it.
struct Coded {
  TileMode mode{};
  ByteVector body;
  ByteVector heap;
  friend bool operator==(const Coded&, const Coded&) = default;
};

/// A tile's values without gaps.
struct TileSample {
  DType dtype{};
  TileExtent extent{};
  ByteVector values;
  [[nodiscard]] std::string name() const;
};

[[nodiscard]] TileExtent extent_of(std::uint32_t rows, std::uint32_t width);
/// `values` values in rows of `width`, the last of which may be short.
[[nodiscard]] TileExtent ragged(std::uint32_t values, std::uint32_t width);

/// Values of many forms: `kind` 0 to `sample_kinds` - 1.
inline constexpr unsigned sample_kinds = 15;
[[nodiscard]] TileSample make_sample(DType dtype, TileExtent extent, unsigned kind, unsigned seed);

/// The tiles of a tensor's first elements.
[[nodiscard]] std::vector<TileSample> tiles_of(DType dtype, const Shape& shape,
                                               const ByteVector& tensor, std::size_t limit);

/// The host's tile code, the reference kernels.
[[nodiscard]] Coded encode_on_host(const TileSample& sample);
[[nodiscard]] bool decode_on_host(DType dtype, TileExtent extent, const Coded& coded,
                                  ByteVector& values);

/// Where a block finds the values: how far rows stand apart, and how far off an aligned address.
struct Place {
  std::uint64_t gap{};  ///< elements
  std::size_t skew{};
};

/// The arguments of one call.
struct EncodeCall {
  DType dtype{};
  TileExtent extent{};
  const std::byte* values{};
  std::uint64_t pitch{};
  std::byte* body{};
  std::byte* heap{};
  BlockScratch scratch;

  template <class B>
  [[nodiscard]] CodedTile by(B& block) const {
    return encode_tile(block, dtype, extent, values, pitch, body, heap, scratch);
  }
};
struct DecodeCall {
  DType dtype{};
  TileExtent extent{};
  TileMode mode{};
  std::span<const std::byte> body;
  std::span<const std::byte> heap;
  std::byte* values{};
  std::uint64_t pitch{};
  BlockScratch scratch;

  template <class B>
  [[nodiscard]] bool by(B& block) const {
    return decode_tile(block, dtype, extent, mode, body, heap, values, pitch, scratch);
  }
};

/// Makes a call whose values and scratch have exactly the room that they need, and whose body and
/// heap may not be written behind their sizes.
[[nodiscard]] Coded encode_with(const std::function<CodedTile(const EncodeCall&)>& encode,
                                const TileSample& sample, Place place);

/// Makes a call whose body and heap end where they end, and checks that nothing between or around
/// the rows is written.
[[nodiscard]] bool decode_with(const std::function<bool(const DecodeCall&)>& decode, DType dtype,
                               TileExtent extent, const Coded& coded, Place place,
                               ByteVector& values);

[[nodiscard]] inline Coded encode_by_block(CpuBlock& block, const TileSample& sample, Place place) {
  return encode_with([&](const EncodeCall& call) { return call.by(block); }, sample, place);
}
[[nodiscard]] inline bool decode_by_block(CpuBlock& block, DType dtype, TileExtent extent,
                                          const Coded& coded, Place place, ByteVector& values) {
  return decode_with([&](const DecodeCall& call) { return call.by(block); }, dtype, extent, coded,
                     place, values);
}

/// A tile code, by the host and by a block.
struct TileCode {
  Coded (*encode_on_host)(const TileSample& sample);
  bool (*decode_on_host)(DType dtype, TileExtent extent, const Coded& coded, ByteVector& values);
  Coded (*encode_by_block)(CpuBlock& block, const TileSample& sample, Place place);
  bool (*decode_by_block)(CpuBlock& block, DType dtype, TileExtent extent, const Coded& coded,
                          Place place, ByteVector& values);
};

inline constexpr TileCode exact_code{encode_on_host, decode_on_host, encode_by_block,
                                     decode_by_block};

}  // namespace offramp::exact::block
