// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_kernels.hpp"
#include "codec/tiles/tile.hpp"

#include <cstddef>
#include <span>

namespace offramp::exact {

/// `TileCoder::encode` and `decode` of `exact` with kernels of one's choice. All kernels give the
/// same bytes; the coder uses `fast_kernels`.
tiles::CodedTile encode_tile(const Kernels& kernels, DType dtype, tiles::TileExtent extent,
                             tiles::ConstLines values, std::byte* body, std::byte* heap,
                             std::byte* scratch);
bool decode_tile(const Kernels& kernels, DType dtype, tiles::TileExtent extent,
                 tiles::TileMode mode, std::span<const std::byte> body,
                 std::span<const std::byte> heap, tiles::Lines values, std::byte* scratch);

}  // namespace offramp::exact
