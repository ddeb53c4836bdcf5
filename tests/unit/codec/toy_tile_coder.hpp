// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"

#include <offramp/codec/stage.hpp>

namespace offramp::tiles {

/// A tile code that is small enough to see through, for tests of the frame alone. Its modes:
/// - 1: the first byte of the tile, then all value bytes but each value's last in the body (nominal
///   size); the last bytes as runs in the heap. Used where that is smaller.
/// - 2: all values are equal; the body, 16 bytes, has no nominal size.
/// - 3: as 1, with 16 further bytes in the body, so that the size is not nominal. For tiles that
///   begin with the byte 0x77.
/// It writes up to the stated bounds behind what it makes and reads the slack behind the values, as
/// it may.
const TileCoder& toy_tile_coder() noexcept;

inline constexpr TileMode toy_runs = 1;
inline constexpr TileMode toy_constant = 2;
inline constexpr TileMode toy_long = 3;

/// A stage made of it, with a number that no table has.
StageRow toy_stage() noexcept;

}  // namespace offramp::tiles
