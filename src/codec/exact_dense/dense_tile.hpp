// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/dense_kernels.hpp"

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp::exact_dense {

/// Buffers of one call.
struct Workspace {
  alignas(64) std::uint16_t words[tiles::tile_values];
  alignas(64) std::uint16_t subtails[tiles::tile_values];
  alignas(64) std::uint32_t rest[max_rest_words];
  alignas(64) std::uint32_t stream[max_stream_words];
};

struct Sizes {
  std::size_t body{};
  std::size_t heap{};

  [[nodiscard]] std::size_t sum() const noexcept { return body + heap; }
};

/// Codes floats as modes 16 and 17 do. Nothing, and nothing written, where that takes `limit` bytes
/// or more.
[[nodiscard]] std::optional<Sizes> encode_plain(const Kernels& kernels, DType dtype,
                                                TileExtent extent, unsigned rest_bits,
                                                const std::byte* values, std::size_t limit,
                                                std::byte* body, std::byte* heap,
                                                Workspace& workspace);

/// The inverse. `mode` 16 allows no trimmed rest.
[[nodiscard]] bool decode_plain(const Kernels& kernels, DType dtype, TileExtent extent,
                                tiles::TileMode mode, std::span<const std::byte> body,
                                std::span<const std::byte> heap, tiles::Lines values,
                                Workspace& workspace);

/// Mode 18. `inner` has room for a tile of values.
[[nodiscard]] std::optional<Sizes> encode_sparse(const Kernels& kernels, DType dtype,
                                                 TileExtent extent, unsigned rest_bits,
                                                 const std::byte* values, std::size_t limit,
                                                 std::byte* body, std::byte* heap, std::byte* inner,
                                                 Workspace& workspace);
[[nodiscard]] bool decode_sparse(const Kernels& kernels, DType dtype, TileExtent extent,
                                 std::span<const std::byte> body, std::span<const std::byte> heap,
                                 tiles::Lines values, std::byte* inner, Workspace& workspace);

/// The tile coder over a given table of kernels; exact_dense_tile_coder() uses kernels().
[[nodiscard]] tiles::CodedTile encode_tile(const Kernels& kernels, DType dtype, TileExtent extent,
                                           tiles::ConstLines values, std::byte* body,
                                           std::byte* heap, std::byte* scratch);
[[nodiscard]] bool decode_tile(const Kernels& kernels, DType dtype, TileExtent extent,
                               tiles::TileMode mode, std::span<const std::byte> body,
                               std::span<const std::byte> heap, tiles::Lines values,
                               std::byte* scratch);

}  // namespace offramp::exact_dense
