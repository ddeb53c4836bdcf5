// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/frame.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::tiles {

void write_header(const Header& header, std::byte* to) noexcept {
  std::memset(to, 0, header_size);
  store(to, header.tiles);
  store(to + 4, header.uniform ? uniform_flag : 0u);
  store(to + 8, header.bodies_size);
  store(to + 16, header.heap_size);
  store(to + 24, header.uniform ? header.mode : TileMode{0});
}

std::optional<Header> read_header(const std::byte* from) noexcept {
  const auto flags = load<std::uint32_t>(from + 4);
  const auto last = load<std::uint64_t>(from + 24);
  const bool uniform = flags == uniform_flag;
  if (flags > uniform_flag || last > (uniform ? 0xffu : 0u)) return std::nullopt;
  return Header{.tiles = load<std::uint32_t>(from),
                .uniform = uniform,
                .bodies_size = load<std::uint64_t>(from + 8),
                .heap_size = load<std::uint64_t>(from + 16),
                .mode = static_cast<TileMode>(last)};
}

Layout Layout::of(const Header& header) noexcept {
  const std::uint64_t tiles = header.tiles;
  Layout at;
  at.heap_ends = header_size;
  at.bodies = round_up(at.heap_ends + tiles * sizeof(std::uint32_t), bodies_alignment);
  at.heap = at.bodies + header.bodies_size;
  at.body_ends = at.heap + header.heap_size;
  at.modes = at.body_ends;
  at.size = at.body_ends;
  if (!header.uniform) {
    at.modes += round_up(tiles * sizeof(std::uint32_t), section_alignment);
    at.size = at.modes + round_up(tiles * sizeof(TileMode), section_alignment);
  }
  return at;
}

std::optional<std::uint64_t> total_raw_size(const TensorDesc& desc, const Tiling& tiling) noexcept {
  const BodyPlaces places(tiling, [&](TileExtent extent) { return raw_size(desc.dtype, extent); });
  const std::uint64_t size = places.begin(tiling.tiles());
  if (size > max_sections_size) return std::nullopt;
  return size;
}

std::size_t max_encoded_size(const TensorDesc& desc) {
  OFFRAMP_EXPECTS(desc.checked_size(), "the shape is not sound");
  const Tiling tiling(desc.shape);
  const auto raw = total_raw_size(desc, tiling);
  OFFRAMP_EXPECTS(raw, "a chunk is larger than 64 GiB: cut it into parts");
  return Layout::of({.tiles = static_cast<std::uint32_t>(tiling.tiles()),
                     .uniform = false,
                     .bodies_size = *raw,
                     .heap_size = 0,
                     .mode = raw_mode})
      .size;
}

}  // namespace offramp::tiles
