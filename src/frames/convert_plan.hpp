// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frames/pixel_math.hpp"

#include <offramp/frames/frame_view.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <cstdint>

namespace offramp::frames {

/// A conversion that was checked, in the numbers that its loops need. Trivially copyable: goes to
/// another thread or into a kernel's arguments as it is.
struct ConvertPlan {
  const std::byte* from{};
  std::byte* to{};
  DType dtype{};
  PixelFormat pixels{};
  std::uint64_t frames{};
  std::uint32_t width{};
  std::uint32_t height{};
  std::uint32_t channels{};         ///< of the source, that are used: 1, 3 or 4
  std::uint32_t stored_channels{};  ///< that it has
  std::int64_t frame_stride{};      ///< in bytes, as the next three
  std::int64_t row_stride{};
  std::int64_t column_stride{};
  std::int64_t channel_stride{};
  std::size_t frame_size{};  ///< of the output, bytes
  Scaling scaling{};
  float top{};         ///< the largest code of gray and RGB
  bool is_copy{};      ///< gray or RGB codes that are their own values
  YuvMatrix matrix{};  ///< of Y'CbCr
};

/// Checks as `expect_convertible` does. @throws LogicError.
[[nodiscard]] ConvertPlan make_plan(const FrameView& from, const FrameFormat& format,
                                    std::byte* to);

/// The matrix of src/frames/spec.md.
[[nodiscard]] YuvMatrix yuv_matrix(const FrameFormat& format) noexcept;

/// By plain loops over pixel_math.hpp: slow, and what all others are compared with.
void convert_plain(const ConvertPlan& plan) noexcept;

}  // namespace offramp::frames
