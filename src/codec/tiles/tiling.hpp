// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"

#include <offramp/core/shape.hpp>

#include <cstdint>

namespace offramp::tiles {

/// A shape read as groups of rows of channels (spec.md, Geometry, rules 1 to 4).
struct ChannelView {
  std::uint64_t groups{};
  std::uint64_t group_values{};  ///< of one group
  std::uint64_t width{};         ///< values in a row, folded; a group's last row may be shorter
};

/// The view of a sound shape; all 0 where it has no elements.
[[nodiscard]] ChannelView channel_view(const Shape& shape) noexcept;

/// One tile's place in the chunk.
struct Tile {
  std::uint64_t first_elem{};  ///< of its first row
  std::uint64_t pitch{};       ///< elements from one row to the next
  TileExtent extent{};

  /// The element behind its last value.
  [[nodiscard]] constexpr std::uint64_t behind() const noexcept {
    const std::uint64_t last_row = extent.rows - 1;
    return first_elem + last_row * pitch + extent.values - last_row * extent.width;
  }

  /// Its values stand without gaps.
  [[nodiscard]] bool is_contiguous() const noexcept {
    return pitch == extent.width || extent.rows == 1;
  }

  /// A tile coder takes them where they stand.
  [[nodiscard]] bool lies_in_lines() const noexcept {
    return is_contiguous() || extent.width == tile_width;
  }

  /// Bytes from one line of its values to the next, where it lies in lines.
  [[nodiscard]] std::size_t line_pitch(std::size_t elem_size) const noexcept {
    return (is_contiguous() ? tile_width : pitch) * elem_size;
  }
};

/// How a chunk of a shape is cut into tiles.
class Tiling {
 public:
  explicit Tiling(const Shape& shape) noexcept;

  [[nodiscard]] std::uint64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] Tile tile(std::uint64_t number) const noexcept;

  /// Numbers of the tiles of the bands that hold elements `first` to before `last`: a superset of
  /// those that overlap the range.
  struct Range {
    std::uint64_t begin{};
    std::uint64_t end{};
  };
  [[nodiscard]] Range tiles_of(std::uint64_t first, std::uint64_t last) const noexcept;

  /// The kinds of extents in a group: [last band][last column]. Kinds that do not occur have no
  /// values.
  [[nodiscard]] TileExtent extent(bool last_band, bool last_column) const noexcept;

 private:
  friend class BodyPlaces;
  struct Place {
    std::uint64_t group{};
    std::uint64_t band{};
    std::uint64_t column{};
  };
  [[nodiscard]] Place place(std::uint64_t number) const noexcept;

  ChannelView view_{};
  std::uint64_t bands_{};    // in a group
  std::uint64_t columns_{};  // in a band
  std::uint64_t tiles_{};
};

/// Where a tile's body begins when the body's size is a function of its extent alone.
class BodyPlaces {
 public:
  /// `size_of(extent)` is called for the kinds of extents that occur.
  template <class SizeOf>
  BodyPlaces(const Tiling& tiling, SizeOf&& size_of) : tiling_(&tiling) {
    for (const bool last_band : {false, true}) {
      for (const bool last_column : {false, true}) {
        const TileExtent extent = tiling.extent(last_band, last_column);
        size_[last_band][last_column] = extent.values != 0 ? size_of(extent) : 0;
      }
    }
  }

  /// Bytes before the body of tile `number`; of all bodies for `number == tiles()`. At most
  /// `tiles()` times the largest size, which the caller keeps below 2^63.
  [[nodiscard]] std::uint64_t begin(std::uint64_t number) const noexcept;

 private:
  const Tiling* tiling_;
  std::uint64_t size_[2][2]{};
};

}  // namespace offramp::tiles
