// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/part_checks.hpp"

#include <offramp/engine/part.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace offramp {
namespace {

constexpr std::uint64_t band_rows = 256;       // what a tile holds of one channel
constexpr std::uint64_t flat_unit = 256 * 64;  // a tile of a tensor without channels
constexpr std::uint64_t fewest_rows = 8;       // below, a codec sees no channels
constexpr std::uint64_t group_rows = 64;       // from here on a group stands alone
constexpr std::uint64_t group_elems = 4096;

struct View {
  std::uint64_t groups{1};
  std::uint64_t rows{1};
  std::uint64_t channels{1};
};

// How the tile codecs read a shape (src/codec/tiles/spec.md, Geometry, rules 1 and 2).
View view_of(const Shape& shape, std::uint64_t elems) {
  std::array<std::uint64_t, Shape::max_rank> kept{};
  std::size_t rank = 0;
  for (const std::uint64_t extent : shape.extents()) {
    if (extent != 1) kept[rank++] = extent;
  }
  std::uint64_t channels = 1;
  for (std::size_t axis = rank; axis-- > 1;) {
    channels *= kept[axis];
    const std::uint64_t rows = kept[axis - 1];
    if (rows >= group_rows && rows * channels >= group_elems) {
      return {.groups = elems / (rows * channels), .rows = rows, .channels = channels};
    }
  }
  const std::uint64_t last = rank == 0 ? 1 : kept[rank - 1];
  return {.groups = 1, .rows = elems / last, .channels = last};
}

}  // namespace

PartPlan::PartPlan(const TensorDesc& tensor, std::size_t max_size)
    : tensor_(tensor), outer_elems_(tensor.shape.elems()), inner_elems_(outer_elems_) {
  const std::uint64_t limit = max_size / size_of(tensor.dtype);
  OFFRAMP_EXPECTS(limit > 0, "a part of that size holds no element");
  OFFRAMP_EXPECTS(tensor.checked_size(), "the tensor's size does not fit 64 bits");
  if (outer_elems_ <= limit) return;

  const View view = view_of(tensor.shape, outer_elems_);
  rows_ = view.rows;
  channels_ = view.channels;
  const std::uint64_t group = view.rows * view.channels;
  std::uint64_t rows = limit / view.channels;
  if (view.groups > 1 && group <= limit) {
    rank_ = 3;
    inner_elems_ = limit / group * group;
  } else if (view.rows >= fewest_rows && rows >= fewest_rows) {
    rank_ = 2;
    outer_elems_ = group;
    outer_count_ = view.groups;
    if (rows >= band_rows) rows -= rows % band_rows;
    inner_elems_ = rows * view.channels;
  } else {
    rank_ = 1;
    inner_elems_ = limit >= flat_unit ? limit - limit % flat_unit : limit;
  }
  inner_count_ = outer_elems_ / inner_elems_ + (outer_elems_ % inner_elems_ != 0);
}

Part PartPlan::operator[](std::uint64_t index) const noexcept {
  if (rank_ == 0) return {.first_elem = 0, .desc = tensor_};
  const std::uint64_t begin = index % inner_count_ * inner_elems_;
  const std::uint64_t elems = std::min(inner_elems_, outer_elems_ - begin);
  std::array<std::uint64_t, 3> extents{elems, 0, 0};
  if (rank_ == 2) extents = {elems / channels_, channels_, 0};
  if (rank_ == 3) extents = {elems / (rows_ * channels_), rows_, channels_};
  return {.first_elem = index / inner_count_ * outer_elems_ + begin,
          .desc = {.dtype = tensor_.dtype,
                   .shape = Shape(std::span<const std::uint64_t>(extents.data(), rank_))}};
}

void expect_sound(const TensorPart& what) {
  const auto whole = what.tensor.shape.checked_elems();
  const auto part = what.part.desc.shape.checked_elems();
  OFFRAMP_EXPECTS(what.tensor.checked_size() && what.part.desc.checked_size(),
                  "a tensor's size does not fit 64 bits");
  OFFRAMP_EXPECTS(what.part.desc.dtype == what.tensor.dtype,
                  "a part has another dtype than its tensor");
  OFFRAMP_EXPECTS(what.part.first_elem <= *whole && *part <= *whole - what.part.first_elem,
                  "a part is not inside its tensor");
}

}  // namespace offramp
