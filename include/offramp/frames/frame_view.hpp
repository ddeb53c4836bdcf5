// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

/// The values that mean black and full: what lies outside is clamped, NaN is black (0).
struct ValueRange {
  double low{0.0};
  double high{1.0};

  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

/// The range that values of this dtype have where nobody says otherwise: 0 to 1 for floating point,
/// 0 to the largest value for u8 and u16.
[[nodiscard]] ValueRange usual_range(DType dtype) noexcept;

/// One or more frames as a generator leaves them: any strides, on the device or the host. Owns
/// nothing.
struct FrameView {
  const std::byte* data{};   ///< the first frame's first row's first column's first channel
  DType dtype{DType::fp32};  ///< fp32, fp16, bf16, u8 or u16
  std::uint64_t frames{1};   ///< in all
  std::uint64_t height{};
  std::uint64_t width{};
  std::uint64_t channels{};     ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  std::int64_t frame_stride{};  ///< in elements, as all strides; may be negative or 0
  std::int64_t row_stride{};
  std::int64_t column_stride{};
  std::int64_t channel_stride{};
  ValueRange range{};  ///< high above low, both finite

  /// Frames `first` to `first + count` of these.
  [[nodiscard]] FrameView slice(std::uint64_t first, std::uint64_t count) const noexcept;
};

/// A view of contiguous values whose axes are named from the outermost: each of n (frames), h, w
/// and c at most once, such as "nhwc", "cnhw", "nchw", "hwc", "hw". An axis without a name has
/// extent 1.
/// @throws LogicError for other letters, h or w missing, or as many extents as letters not given.
[[nodiscard]] FrameView frame_view(const std::byte* data, DType dtype,
                                   std::span<const std::uint64_t> extents, std::string_view axes,
                                   ValueRange range);
[[nodiscard]] FrameView frame_view(const std::byte* data, DType dtype,
                                   std::span<const std::uint64_t> extents, std::string_view axes);

}  // namespace offramp
