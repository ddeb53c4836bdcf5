// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace offramp {

/// A contiguous range of a tensor's elements, coded and restored on its own.
struct Part {
  std::uint64_t first_elem{};
  TensorDesc desc{};  ///< the range as a tensor: what a codec sees
  friend bool operator==(const Part&, const Part&) noexcept = default;
};

/// A part with the tensor it belongs to. Does not own the name.
struct TensorPart {
  std::string_view name{};
  TensorDesc tensor{};
  Part part{};
};

/// How a tensor is cut into parts of at most `max_size` bytes (docs/design/0002-parts.md).
///
/// A function of the desc and the size alone. A tensor that fits is one part with its own shape; a
/// larger one is cut so that each part keeps the tensor's channels. Every element is in one part
/// and the parts come in order. A value type.
class PartPlan {
 public:
  /// @throws LogicError if one element does not fit `max_size`.
  PartPlan(const TensorDesc& tensor, std::size_t max_size);

  /// At least 1: an empty tensor has one empty part.
  [[nodiscard]] std::uint64_t count() const noexcept { return outer_count_ * inner_count_; }

  /// Part number `index`, below `count()`.
  [[nodiscard]] Part operator[](std::uint64_t index) const noexcept;

 private:
  TensorDesc tensor_;
  std::size_t rank_{};            // axes of a cut part; 0: the tensor is one part
  std::uint64_t outer_elems_{};   // elements that are cut on their own: a group, or the tensor
  std::uint64_t outer_count_{1};  // how many of these
  std::uint64_t inner_elems_{};   // elements of a full part
  std::uint64_t inner_count_{1};  // parts in each
  std::uint64_t rows_{};
  std::uint64_t channels_{};
};

}  // namespace offramp
