// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/tiling.hpp"

#include "core/bytes.hpp"

#include <array>

namespace offramp::tiles {
namespace {

constexpr std::uint64_t min_group_rows = 64;
constexpr std::uint64_t min_group_values = 4096;
constexpr std::uint64_t min_rows = 8;

}  // namespace

ChannelView channel_view(const Shape& shape) noexcept {
  const std::uint64_t elems = shape.elems();
  if (elems == 0) return {};
  std::array<std::uint64_t, Shape::max_rank> extents{};
  std::size_t rank = 0;
  for (const std::uint64_t extent : shape.extents()) {
    if (extent != 1) extents[rank++] = extent;
  }
  const auto folded = [](std::uint64_t groups, std::uint64_t rows, std::uint64_t channels) {
    const std::uint64_t fold = channels < tile_width ? tile_width / channels : 1;
    return ChannelView{.groups = groups, .group_values = rows * channels, .width = channels * fold};
  };

  std::uint64_t channels = 1;
  for (std::size_t axis = rank; axis-- > 1;) {
    channels *= extents[axis];
    const std::uint64_t rows = extents[axis - 1];
    if (rows >= min_group_rows && rows * channels >= min_group_values) {
      return folded(elems / (rows * channels), rows, channels);
    }
  }
  channels = rank > 0 ? extents[rank - 1] : 1;
  if (elems / channels >= min_rows) return folded(1, elems / channels, channels);
  return {.groups = 1, .group_values = elems, .width = tile_width};
}

Tiling::Tiling(const Shape& shape) noexcept : view_(channel_view(shape)) {
  if (view_.groups == 0) return;
  bands_ = ceil_div(ceil_div(view_.group_values, view_.width), tile_rows);
  columns_ = ceil_div(view_.width, tile_width);
  tiles_ = view_.groups * bands_ * columns_;
}

Tiling::Place Tiling::place(std::uint64_t number) const noexcept {
  const std::uint64_t band = number / columns_;
  return {.group = band / bands_, .band = band % bands_, .column = number % columns_};
}

TileExtent Tiling::extent(bool last_band, bool last_column) const noexcept {
  if (tiles_ == 0 || (!last_band && bands_ == 1) || (!last_column && columns_ == 1)) return {};
  const std::uint64_t left = view_.group_values - (bands_ - 1) * tile_rows * view_.width;
  const std::uint64_t rows = last_band ? ceil_div(left, view_.width) : tile_rows;
  const std::uint64_t width =
      last_column ? view_.width - (columns_ - 1) * tile_width : std::uint64_t{tile_width};
  std::uint64_t values = rows * width;
  if (last_band && columns_ == 1) values = left;
  return {.rows = static_cast<std::uint32_t>(rows),
          .width = static_cast<std::uint32_t>(width),
          .values = static_cast<std::uint32_t>(values)};
}

Tile Tiling::tile(std::uint64_t number) const noexcept {
  const Place at = place(number);
  return {.first_elem = at.group * view_.group_values + at.band * tile_rows * view_.width +
                        at.column * tile_width,
          .pitch = view_.width,
          .extent = extent(at.band + 1 == bands_, at.column + 1 == columns_)};
}

Tiling::Range Tiling::tiles_of(std::uint64_t first, std::uint64_t last) const noexcept {
  if (first >= last) return {};
  const auto band_of = [this](std::uint64_t elem) {
    return elem / view_.group_values * bands_ +
           elem % view_.group_values / (tile_rows * view_.width);
  };
  return {.begin = band_of(first) * columns_, .end = (band_of(last - 1) + 1) * columns_};
}

std::uint64_t BodyPlaces::begin(std::uint64_t number) const noexcept {
  if (number == 0) return 0;
  const std::uint64_t columns = tiling_->columns_;
  const std::uint64_t bands = tiling_->bands_;
  const Tiling::Place at = tiling_->place(number);
  const auto band_size = [&](bool last_band) {
    return (columns - 1) * size_[last_band][0] + size_[last_band][1];
  };
  const std::uint64_t group_size = (bands - 1) * band_size(false) + band_size(true);
  return at.group * group_size + at.band * band_size(false) +
         at.column * size_[at.band + 1 == bands][0];
}

}  // namespace offramp::tiles
