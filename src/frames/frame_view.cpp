// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/frames/frame_view.hpp>

#include <fmt/core.h>

namespace offramp {

ValueRange usual_range(DType dtype) noexcept {
  switch (dtype) {
    case DType::u8:
      return {.low = 0, .high = 255};
    case DType::u16:
      return {.low = 0, .high = 65535};
    default:
      return {.low = 0, .high = 1};
  }
}

FrameView FrameView::slice(std::uint64_t first, std::uint64_t count) const noexcept {
  FrameView part = *this;
  part.frames = count;
  part.data +=
      static_cast<std::int64_t>(first) * frame_stride * static_cast<std::int64_t>(size_of(dtype));
  return part;
}

FrameView frame_view(const std::byte* data, DType dtype, std::span<const std::uint64_t> extents,
                     std::string_view axes, ValueRange range) {
  if (extents.size() != axes.size()) {
    throw LogicError(fmt::format("axes \"{}\" name {} extents, and {} are given", axes, axes.size(),
                                 extents.size()));
  }
  FrameView view{.data = data,
                 .dtype = dtype,
                 .frames = 1,
                 .height = 0,
                 .width = 0,
                 .channels = 1,
                 .frame_stride = 0,
                 .row_stride = 0,
                 .column_stride = 0,
                 .channel_stride = 0,
                 .range = range};
  std::int64_t stride = 1;
  bool fits = true;
  for (std::size_t left = axes.size(); left-- > 0;) {
    const char axis = axes[left];
    if (axes.find(axis) != left) {
      throw LogicError(fmt::format("axes \"{}\" name {} twice", axes, axis));
    }
    switch (axis) {
      case 'n':
        view.frames = extents[left];
        view.frame_stride = stride;
        break;
      case 'h':
        view.height = extents[left];
        view.row_stride = stride;
        break;
      case 'w':
        view.width = extents[left];
        view.column_stride = stride;
        break;
      case 'c':
        view.channels = extents[left];
        view.channel_stride = stride;
        break;
      default:
        throw LogicError(fmt::format(
            "axes \"{}\" hold '{}'; they are n (frames), h, w and c (channels)", axes, axis));
    }
    fits = fits && !__builtin_mul_overflow(stride, extents[left], &stride);
  }
  std::int64_t bytes = 0;
  fits = fits && !__builtin_mul_overflow(stride, static_cast<std::int64_t>(size_of(dtype)), &bytes);
  OFFRAMP_EXPECTS(axes.find('h') != axes.npos && axes.find('w') != axes.npos,
                  "the axes of frames name h and w");
  OFFRAMP_EXPECTS(fits, "frames of these extents have more bytes than can be counted");
  return view;
}

FrameView frame_view(const std::byte* data, DType dtype, std::span<const std::uint64_t> extents,
                     std::string_view axes) {
  return frame_view(data, dtype, extents, axes, usual_range(dtype));
}

}  // namespace offramp
