// SPDX-License-Identifier: Apache-2.0
// What the host's conversion is made of: loops over pieces of rows, for each instruction set. They
// do pixel_math.hpp's operations in its order, so that every set makes the same codes.
#pragma once

#include "frames/pixel_math.hpp"

#include <offramp/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace offramp::frames {

/// How the channels of a row's pixels lie.
enum class Lay : std::uint8_t { one, three, four };  ///< one: a channel's values side by side

/// Units of a piece of a row, channel by channel.
using Planes = std::array<float*, 4>;
using ConstPlanes = std::array<const float*, 4>;

/// Kernels that write units write whole vectors: there is room for `slack` more than `n`, and they
/// read as much. Those that write codes for the user, or read the user's values, keep to `n`.
inline constexpr std::size_t slack = 64;

/// For dtypes by `source_index`.
inline constexpr std::size_t source_count = 5;

[[nodiscard]] constexpr std::size_t source_index(DType dtype) noexcept {
  switch (dtype) {
    case DType::fp32:
      return 0;
    case DType::fp16:
      return 1;
    case DType::bf16:
      return 2;
    case DType::u16:
      return 3;
    default:
      return 4;
  }
}

struct RowKernels {
  /// Values to units: `n` pixels, one plane for each channel.
  using Unpack = void (*)(const std::byte* from, std::size_t n, const Scaling& by,
                          const Planes& to) noexcept;
  std::array<std::array<Unpack, 3>, source_count> unpack{};  ///< by Lay

  /// Values to codes of 8 or 16 bits, in one go.
  using Flat = void (*)(const std::byte* from, std::size_t n, const Scaling& by,
                        std::byte* to) noexcept;
  std::array<Flat, source_count> flat8{};
  std::array<Flat, source_count> flat16{};

  /// Units to pixels of `channels` codes, 1, 3 or 4.
  using Pack = void (*)(const ConstPlanes& from, std::size_t n, std::size_t channels,
                        std::byte* to) noexcept;
  Pack pack8{};
  Pack pack16{};

  /// R, G and B to one of Y, U and V.
  using Yuv = void (*)(const ConstPlanes& from, std::size_t n, const YuvRow& row, float top,
                       std::byte* to) noexcept;
  Yuv yuv8{};
  Yuv yuv16{};  ///< of 10 bits

  /// a + b, in place of a.
  void (*sum)(float* a, const float* b, std::size_t n) noexcept {};

  /// Sums of two rows, from the column left of the first on, to half as many columns' U and V: `n`
  /// of each.
  using Half = void (*)(const ConstPlanes& from, std::size_t n, const YuvMatrix& matrix,
                        std::byte* u, std::byte* v) noexcept;
  Half half8{};
  Half half16{};
};

/// The best of this processor, or those that Highway was told to use.
[[nodiscard]] const RowKernels& row_kernels() noexcept;

}  // namespace offramp::frames
