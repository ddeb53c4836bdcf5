// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace offramp {

/// How a finished frame lies in memory: its planes one after the other, rows without padding,
/// samples of more than 8 bits as little-endian 16-bit words. The names are FFmpeg's.
enum class PixelFormat : std::uint8_t {
  gray8,      ///< one plane
  gray16,     ///< likewise, 16 bits
  rgb24,      ///< one plane, R G B R G B ...
  rgba32,     ///< with alpha
  rgb48,      ///< as rgb24, 16 bits
  rgba64,     ///< as rgba32, 16 bits
  yuv420p,    ///< Y, then U and V with (width + 1) / 2 columns and (height + 1) / 2 rows each
  yuv444p,    ///< Y, U, V of one size
  yuv420p10,  ///< as yuv420p, 10 bits in the low bits of each word
  yuv444p10,  ///< as yuv444p, likewise
};

inline constexpr std::size_t pixel_format_count = 10;

[[nodiscard]] std::string_view name_of(PixelFormat format) noexcept;
[[nodiscard]] std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept;

[[nodiscard]] constexpr bool is_yuv(PixelFormat format) noexcept {
  return format >= PixelFormat::yuv420p;
}
/// Whether U and V have half the columns and half the rows.
[[nodiscard]] constexpr bool is_subsampled(PixelFormat format) noexcept {
  return format == PixelFormat::yuv420p || format == PixelFormat::yuv420p10;
}
/// Significant bits of a sample: 8, 10 or 16.
[[nodiscard]] int bits_of(PixelFormat format) noexcept;
/// Samples of a pixel before subsampling: 1, 3 or 4. What a source has to have.
[[nodiscard]] int channels_of(PixelFormat format) noexcept;

/// The coefficients of Y'CbCr (Rec. ITU-R BT.709-6, BT.601-7).
enum class ColorMatrix : std::uint8_t { bt709, bt601 };

/// Which codes Y'CbCr uses: 16 to 235 and 16 to 240 of 8 bits (and four times that of 10), or all.
enum class ColorRange : std::uint8_t { limited, full };

/// Frames a second.
struct FrameRate {
  std::uint32_t num{24};
  std::uint32_t den{1};

  friend bool operator==(const FrameRate&, const FrameRate&) = default;
};

/// What a sink is given: all frames of a file are alike.
struct FrameFormat {
  PixelFormat pixels{PixelFormat::rgb24};
  std::uint32_t width{};
  std::uint32_t height{};
  ColorMatrix matrix{ColorMatrix::bt709};  ///< of Y'CbCr; not used by the others
  ColorRange range{ColorRange::limited};   ///< likewise
  FrameRate rate{};

  /// Bytes of a frame. @throws LogicError where that is no std::size_t.
  [[nodiscard]] std::size_t size() const;

  friend bool operator==(const FrameFormat&, const FrameFormat&) = default;
};

}  // namespace offramp
