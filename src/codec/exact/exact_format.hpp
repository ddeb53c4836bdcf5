// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace offramp::exact {

using tiles::section_alignment;
using tiles::tile_values;
using tiles::tile_width;

// Modes of a tile (spec.md, Modes); raw is tiles::raw_mode.
inline constexpr tiles::TileMode tiered_mode = 1;
inline constexpr tiles::TileMode planes_mode = 2;
inline constexpr tiles::TileMode sparse_mode = 3;

inline constexpr std::size_t max_planes = 8;
inline constexpr std::size_t block_values = 512;
inline constexpr std::size_t piece_values = 2048;
inline constexpr std::size_t max_pieces = tile_values / piece_values;
inline constexpr std::size_t block_code_size = block_values / 4;

/// Bytes that kernels may read or write behind the end of a buffer in scratch.
inline constexpr std::size_t slack = 128;
inline constexpr std::size_t plane_stride = tile_values + slack;

/// A piece of which every value is stored raw: three tiers of codes, then the bytes.
inline constexpr std::size_t max_piece_heap = 3 * piece_values / 4 + piece_values;

/// How a dtype's values fall into planes.
struct PlaneView {
  std::size_t planes{};
  bool is_float{};
  std::array<std::uint8_t, max_planes> used{};  ///< bits that a plane can hold
};

[[nodiscard]] constexpr PlaneView plane_view(DType dtype) noexcept {
  switch (dtype) {
    case DType::bf16:
      return {2, true, {0xff, 0xff}};
    case DType::fp16:
      return {3, true, {0x1f, 0x07, 0xff}};
    case DType::fp32:
      return {4, true, {0xff, 0xff, 0xff, 0xff}};
    case DType::fp64:
      return {8, true, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    case DType::fp8_e4m3:
      return {2, true, {0x0f, 0x0f}};
    case DType::fp8_e5m2:
      return {2, true, {0x1f, 0x07}};
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return {1, false, {0xff}};
    case DType::i16:
    case DType::u16:
      return {2, false, {0xff, 0xff}};
    case DType::i32:
    case DType::u32:
      return {4, false, {0xff, 0xff, 0xff, 0xff}};
    case DType::i64:
    case DType::u64:
      return {8, false, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
  }
  return {};
}

/// Bases of a tiered plane; the numbers stand in the first of the starts.
enum class Bases : std::uint8_t { shared = 1, byte = 2, nibble = 3 };

/// How the planes of a body are stored (spec.md, Form).
struct Form {
  std::size_t planes{};
  std::array<std::uint8_t, max_planes> used{};  ///< as in the view
  bool has_tiers{};
  std::size_t tiered{};  ///< the tiered plane's number, if there is one
  bool zigzag{};
  std::array<std::uint8_t, max_planes> mask{};
  std::array<std::uint8_t, max_planes> constant{};

  [[nodiscard]] constexpr bool is_tiered(std::size_t plane) const noexcept {
    return has_tiers && plane == tiered;
  }
};

[[nodiscard]] constexpr std::size_t padded(std::size_t size) noexcept {
  return round_up(size, section_alignment);
}
[[nodiscard]] constexpr std::size_t pieces_of(std::size_t values) noexcept {
  return ceil_div(values, piece_values);
}
[[nodiscard]] constexpr std::size_t starts_size(std::size_t values) noexcept {
  return padded(2 * pieces_of(values));
}
[[nodiscard]] constexpr std::size_t tier1_size(std::size_t values) noexcept {
  return padded(ceil_div(values, 4));
}
[[nodiscard]] constexpr std::size_t plane_size(std::size_t values, std::uint8_t mask) noexcept {
  if (mask == 0xff) return padded(values);
  return padded(static_cast<std::size_t>(std::popcount(mask)) * ceil_div(values, 8));
}
[[nodiscard]] constexpr std::size_t bases_size(Bases bases, std::size_t width) noexcept {
  switch (bases) {
    case Bases::shared:
      return 0;
    case Bases::byte:
      return padded(width);
    case Bases::nibble:
      return padded(ceil_div(width, 2));
  }
  return 0;
}

/// Size of a form's sections in the body, its header not counted.
[[nodiscard]] constexpr std::size_t form_size(const Form& form, std::size_t values) noexcept {
  std::size_t size = form.has_tiers ? tier1_size(values) : 0;
  for (std::size_t p = 0; p < form.planes; ++p) {
    if (!form.is_tiered(p)) size += plane_size(values, form.mask[p]);
  }
  return size;
}

[[nodiscard]] constexpr std::size_t form_header_size(std::size_t planes) noexcept {
  return padded(2 + 2 * planes);
}

/// The form of mode 1.
[[nodiscard]] constexpr Form tiered_form(const PlaneView& view) noexcept {
  Form form{.planes = view.planes, .used = view.used, .has_tiers = true};
  for (std::size_t p = 1; p < view.planes; ++p) form.mask[p] = view.used[p];
  return form;
}

}  // namespace offramp::exact
