// SPDX-License-Identifier: Apache-2.0
// Frames of all kinds and layouts, for the tests of their conversion.
#pragma once

#include <offramp/frames/frame_view.hpp>
#include <offramp/frames/pixel_format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace offramp::testing_frames {

using Bytes = std::vector<std::byte>;

inline constexpr std::array all_sources{DType::fp32, DType::fp16, DType::bf16, DType::u16,
                                        DType::u8};

inline constexpr std::array all_pixels{
    PixelFormat::gray8,     PixelFormat::gray16,   PixelFormat::rgb24,   PixelFormat::rgba32,
    PixelFormat::rgb48,     PixelFormat::rgba64,   PixelFormat::yuv420p, PixelFormat::yuv444p,
    PixelFormat::yuv420p10, PixelFormat::yuv444p10};

enum class Layout {
  nhwc,
  nchw,
  cnhw,
  nwhc,     ///< rows are columns
  padded,   ///< nhwc with something between rows
  flipped,  ///< every axis backwards
  still,    ///< one row for all rows
  gray,     ///< one channel for all
  sliced,   ///< of more channels than are used; the memory ends with the last one used
};

inline constexpr std::array all_layouts{Layout::nhwc,  Layout::nchw,   Layout::cnhw,
                                        Layout::nwhc,  Layout::padded, Layout::flipped,
                                        Layout::still, Layout::gray,   Layout::sliced};

struct Size {
  std::uint32_t width{};
  std::uint32_t height{};
};

/// What to make.
struct SampleOf {
  DType dtype{DType::fp32};
  Layout layout{Layout::nhwc};
  Size size{};
  std::uint64_t frames{1};
  std::uint64_t channels{3};
  ValueRange range{0, 1};
  std::uint64_t seed{1};
};

/// Memory, and where in it the view's first element is.
struct Sample {
  Bytes bytes;
  std::size_t origin{};  ///< in bytes
  FrameView view;        ///< of `bytes`

  /// The same view of a copy of the memory.
  [[nodiscard]] FrameView at(const std::byte* memory) const {
    FrameView moved = view;
    moved.data = memory + origin;
    return moved;
  }
};

/// Values inside the range, on its ends, beyond them, infinite and not a number, in no order.
[[nodiscard]] Sample make_sample(const SampleOf& what);

/// `count` values of that dtype from numbers; those that are integers are clamped.
[[nodiscard]] Bytes values_of(DType dtype, const std::vector<double>& numbers);

[[nodiscard]] std::string describe(const SampleOf& what, PixelFormat pixels);

[[nodiscard]] FrameFormat format_for(const FrameView& view, PixelFormat pixels);

/// Whether a source of so many channels becomes that format.
[[nodiscard]] bool goes(std::uint64_t channels, PixelFormat pixels);

/// A channel count that becomes it.
[[nodiscard]] std::uint64_t channels_for(PixelFormat pixels);

}  // namespace offramp::testing_frames
