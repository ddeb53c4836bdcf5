// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_bases.hpp"
#include "codec/exact/block/block_tiers.hpp"
#include "codec/exact/block/block_values.hpp"
#include "codec/exact/exact_format.hpp"
#include "codec/tiles/tile.hpp"

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace offramp::exact::block {

/// Which rows of a sparse tile are kept.
struct RowShared {
  std::uint16_t kept[tiles::tile_rows];  ///< numbers of the kept rows
  std::uint16_t rank[tiles::tile_rows];  ///< how many kept rows come before a row
  std::uint8_t is_kept[tiles::tile_rows];
  std::uint32_t bad;
};

/// What a block needs of shared memory, beside what its `Block` does.
struct BlockShared {
  BaseShared bases;
  TierTable tiers;
  RowShared rows;
};

/// Bytes of scratch that a block needs for a tile of that dtype.
[[nodiscard]] constexpr std::size_t block_scratch_size(DType dtype) {
  return tile_values * (plane_view(dtype).planes + 2 + 2 + size_of(dtype));
}

/// Memory of one block, for one call.
struct BlockScratch {
  std::byte* memory{};  ///< `block_scratch_size` bytes at a multiple of 64
  BlockShared* shared{};
};

/// The scratch cut up, and what the code of a tile needs to know of its dtype.
struct Work {
  DType dtype{};
  PlaneView view{};
  std::uint32_t planes_count{};
  std::size_t elem_size{};
  std::uint8_t* planes{};
  std::uint8_t* stream[2]{};   ///< one behind the other
  std::uint16_t* positions{};  ///< of a sparse tile's values
  std::byte* kept{};           ///< these values
  BlockShared* shared{};

  OFFRAMP_DEVICE Work(DType d, const BlockScratch& scratch)
      : dtype(d),
        view(plane_view(d)),
        planes_count(static_cast<std::uint32_t>(view.planes)),
        elem_size(size_of(d)),
        planes(reinterpret_cast<std::uint8_t*>(scratch.memory)),
        stream{plane_at(planes, planes_count), plane_at(planes, planes_count + 1)},
        positions(reinterpret_cast<std::uint16_t*>(plane_at(planes, planes_count + 2))),
        kept(scratch.memory + (view.planes + 4) * tile_values),
        shared(scratch.shared) {}

  [[nodiscard]] OFFRAMP_DEVICE TierJob tier_job(std::uint32_t n, std::uint32_t plane,
                                                const BaseTable& bases) const {
    return {n, bases, plane_at(planes, plane), {stream[0], stream[1]}, &shared->tiers};
  }
};

/// n values in rows of `width`.
struct Extent {
  std::uint32_t n{};
  std::uint32_t width{};
};

/// Bytes that are not trusted.
struct Bytes {
  const std::uint8_t* data{};
  std::uint32_t size{};

  [[nodiscard]] OFFRAMP_DEVICE Bytes from(std::uint32_t begin) const {
    return {data + begin, size - begin};
  }
};

}  // namespace offramp::exact::block
