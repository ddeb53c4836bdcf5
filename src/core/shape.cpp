// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/core/shape.hpp>
#include <offramp/core/tensor_view.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace offramp {

Shape::Shape(std::initializer_list<std::uint64_t> extents)
    : Shape(std::span<const std::uint64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::uint64_t> extents) : rank_(extents.size()) {
  if (extents.size() > max_rank) {
    throw LogicError(fmt::format("a shape has at most {} axes, not {}", max_rank, extents.size()));
  }
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

std::optional<std::uint64_t> Shape::checked_elems() const noexcept {
  // An extent of 0 makes the product 0 whatever the others are.
  if (std::find(extents().begin(), extents().end(), 0u) != extents().end()) return 0;
  std::uint64_t elems = 1;
  for (const std::uint64_t extent : extents()) {
    if (__builtin_mul_overflow(elems, extent, &elems)) return std::nullopt;
  }
  return elems;
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(extents(), ", ")); }

bool operator==(const Shape& a, const Shape& b) noexcept {
  return std::ranges::equal(a.extents(), b.extents());
}

std::optional<std::uint64_t> TensorDesc::checked_size() const noexcept {
  const auto elems = shape.checked_elems();
  std::uint64_t size = 0;
  if (!elems || __builtin_mul_overflow(*elems, size_of(dtype), &size)) return std::nullopt;
  return size;
}

}  // namespace offramp
