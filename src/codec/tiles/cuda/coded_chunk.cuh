// SPDX-License-Identifier: Apache-2.0
// The frame of a coded chunk, as decoders see it: untrusted.
#pragma once

#include "codec/tiles/cuda/find_tile.cuh"
#include "codec/tiles/frame.hpp"

namespace offramp::tiles::gpu {

__device__ __forceinline__ std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

/// What a status word says. Latched: nothing clears it but its owner, and the first tile stays.
inline constexpr std::uint32_t bad_frame = 0xffffffffu;

/// The first bad tile wins, so that the word does not depend on the order of blocks: it holds
/// 2^31 + (2^31 - 1 - number).
__device__ __forceinline__ void report_bad_tile(const Chunk& chunk, std::uint32_t number) {
  atomicMax(chunk.status, 0xfffffffeu - number);
}
__device__ __forceinline__ void report_bad_frame(const Chunk& chunk) {
  atomicMax(chunk.status, bad_frame);
}

/// Whether the header says that all tiles are nominal, of that mode, and agrees with the chunk.
/// `header0` and `header1` are its 32 bytes; the chunk is known to hold the nominal bodies.
__device__ __forceinline__ bool is_nominal(const Chunk& chunk, const uint4& header0,
                                           const uint4& header1, TileMode mode) {
  const std::uint64_t heap_size = join(header1.x, header1.y);
  return header0.x == chunk.tiles && header0.y == uniform_flag &&
         join(header0.z, header0.w) == chunk.bodies_size && header1.z == mode && header1.w == 0 &&
         heap_size <= max_sections_size &&
         bodies_at(chunk.tiles) + chunk.bodies_size + heap_size == chunk.in_size;
}

/// Where a tile's parts stand.
struct PartsPlace {
  std::uint64_t body{};
  std::uint64_t heap{};
};

/// In a chunk that is not odd.
__device__ __forceinline__ PartsPlace nominal_place(const Chunk& chunk, std::uint32_t number) {
  const std::uint64_t bodies = bodies_at(chunk.tiles);
  const auto* const ends = reinterpret_cast<const std::uint32_t*>(chunk.out + header_size);
  return {bodies + place_of<false>(chunk, number).body,
          bodies + chunk.bodies_size + std::uint64_t{begin_of(ends, number)} * 16};
}

/// Sizes of bodies by extent, of nominal bodies or raw ones.
struct BodySizes {
  std::uint32_t of[2][2];  ///< [last band][last column]
};

__device__ __forceinline__ BodySizes raw_sizes(const Chunk& chunk) {
  const auto size = [&](std::uint32_t values) {
    return static_cast<std::uint32_t>((values * size_of(chunk.dtype) + 15) / 16 * 16);
  };
  const std::uint32_t last =
      chunk.columns == 1 ? chunk.last_values : std::uint32_t{chunk.last_rows} * chunk.last_width;
  return {{{size(tile_values), size(tile_rows * chunk.last_width)},
           {size(chunk.last_rows * tile_width), size(last)}}};
}

__device__ __forceinline__ BodySizes other_sizes(const Chunk& chunk) {
  BodySizes sizes;
  for (int i = 0; i < 4; ++i) sizes.of[i / 2][i % 2] = chunk.other_body_size[i / 2][i % 2];
  return sizes;
}

/// Bodies of such sizes lie as nominal ones do. `number` may be that of all tiles.
__device__ __forceinline__ std::uint64_t body_begin(const Chunk& chunk, const BodySizes& sizes,
                                                    std::uint32_t number) {
  const std::uint32_t column = number % chunk.columns, row = number / chunk.columns;
  const std::uint32_t band = row % chunk.bands, group = row / chunk.bands;
  const auto band_size = [&](bool last) {
    return std::uint64_t{chunk.columns - 1} * (last ? sizes.of[1][0] : sizes.of[0][0]) +
           (last ? sizes.of[1][1] : sizes.of[0][1]);
  };
  return group * ((chunk.bands - 1) * band_size(false) + band_size(true)) +
         band * band_size(false) +
         std::uint64_t{column} * (band + 1 == chunk.bands ? sizes.of[1][0] : sizes.of[0][0]);
}
__device__ __forceinline__ std::uint64_t nominal_body_size(const Chunk& chunk,
                                                           std::uint32_t number) {
  const std::uint32_t column = number % chunk.columns, band = number / chunk.columns % chunk.bands;
  return chunk.body_size[band + 1 == chunk.bands][column + 1 == chunk.columns];
}

/// In an encoder's own odd chunk: by its directories, or where all tiles are of one mode, by their
/// sizes.
__device__ __forceinline__ PartsPlace odd_place(const Chunk& chunk, std::uint32_t number) {
  const auto* const header = reinterpret_cast<const uint4*>(chunk.out);
  const std::uint64_t bodies = bodies_at(chunk.tiles);
  const std::uint64_t heap = bodies + join(header[0].z, header[0].w);
  const std::uint64_t ends = heap + join(header[1].x, header[1].y);
  const auto begin = [&](std::uint64_t at) {
    const auto* const ends = reinterpret_cast<const std::uint32_t*>(chunk.out + at);
    return std::uint64_t{begin_of(ends, number)} * 16;
  };
  if (header[0].y == uniform_flag) {
    const bool is_raw = header[1].z == raw_mode;
    return {bodies + body_begin(chunk, is_raw ? raw_sizes(chunk) : other_sizes(chunk), number),
            heap + begin(header_size)};
  }
  return {bodies + begin(ends), heap + begin(header_size)};
}

/// What all bodies take if all tiles are of `mode`; no size at all where its bodies vary.
__device__ __forceinline__ std::uint64_t uniform_bodies_size(const Chunk& chunk, TileMode mode,
                                                             TileMode nominal_mode,
                                                             TileMode other_mode) {
  std::uint64_t size = 0;
  if (mode == raw_mode) size = body_begin(chunk, raw_sizes(chunk), chunk.tiles);
  if (mode == nominal_mode) size = chunk.bodies_size;
  if (mode == other_mode) size = body_begin(chunk, other_sizes(chunk), chunk.tiles);
  return size != 0 ? size : ~std::uint64_t{};
}

/// A frame's header and where its sections begin.
struct Frame {
  bool is_sound{};
  bool is_uniform{};
  bool is_nominal{};
  TileMode mode{};
  std::uint64_t bodies{};
  std::uint64_t bodies_size{};
  std::uint64_t heap{};
  std::uint64_t heap_size{};
  std::uint64_t body_ends{};
  std::uint64_t modes{};
};

/// What spec.md asks a decoder to check before any tile. The directories' padding is looked at
/// where `padding_too`: one thread a chunk is enough for that.
__device__ __forceinline__ Frame read_frame(const Chunk& chunk, TileMode nominal_mode,
                                            bool padding_too, TileMode other_mode = no_mode) {
  Frame frame;
  const std::uint64_t tiles = chunk.tiles;
  frame.bodies = bodies_at(chunk.tiles);
  if (chunk.in_size < frame.bodies) return frame;
  const uint4 header0 = reinterpret_cast<const uint4*>(chunk.in)[0];
  const uint4 header1 = reinterpret_cast<const uint4*>(chunk.in)[1];
  frame.bodies_size = join(header0.z, header0.w);
  frame.heap_size = join(header1.x, header1.y);
  frame.is_uniform = header0.y == uniform_flag;
  frame.mode = static_cast<TileMode>(header1.z);
  frame.is_nominal = frame.is_uniform && frame.mode == nominal_mode;
  if (header0.x != tiles || header0.y > uniform_flag || header1.w != 0 ||
      header1.z > (frame.is_uniform ? 0xffu : 0u) || frame.bodies_size > max_sections_size ||
      frame.heap_size > max_sections_size) {
    return frame;
  }
  const std::uint64_t ends_size = tiles * 4;
  frame.heap = frame.bodies + frame.bodies_size;
  frame.body_ends = frame.heap + frame.heap_size;
  frame.modes = frame.body_ends;
  std::uint64_t size = frame.body_ends;
  if (!frame.is_uniform) {
    frame.modes += (ends_size + 15) / 16 * 16;
    size = frame.modes + (tiles + 15) / 16 * 16;
  }
  if (size != chunk.in_size || frame.bodies_size % 16 != 0 || frame.heap_size % 16 != 0) {
    return frame;
  }
  const auto end = [&](std::uint64_t section) {
    return std::uint64_t{reinterpret_cast<const std::uint32_t*>(chunk.in + section)[tiles - 1]} *
           16;
  };
  const auto is_zero = [&](std::uint64_t from, std::uint64_t to) {
    std::byte any{};
    if (padding_too) {
      for (; from < to; ++from) any |= chunk.in[from];
    }
    return any == std::byte{};
  };
  if (end(header_size) != frame.heap_size || !is_zero(header_size + ends_size, frame.bodies)) {
    return frame;
  }
  if (frame.is_uniform) {
    frame.is_sound =
        uniform_bodies_size(chunk, frame.mode, nominal_mode, other_mode) == frame.bodies_size;
  } else {
    frame.is_sound = end(frame.body_ends) == frame.bodies_size &&
                     is_zero(frame.body_ends + ends_size, frame.modes) &&
                     is_zero(frame.modes + tiles, size);
  }
  return frame;
}

/// Where a tile's parts stand, in a sound frame. Untrusted: false in `is_sound` where they leave
/// their sections.
struct CodedPlace {
  bool is_sound{};
  TileMode mode{};
  std::uint64_t body{};
  std::uint64_t body_size{};
  std::uint64_t heap{};
  std::uint64_t heap_size{};
};

__device__ __forceinline__ CodedPlace coded_tile(const Chunk& chunk, const Frame& frame,
                                                 std::uint32_t number) {
  const auto range = [&](std::uint64_t section, std::uint64_t& begin, std::uint64_t& end) {
    const auto* const ends = reinterpret_cast<const std::uint32_t*>(chunk.in + section);
    begin = std::uint64_t{begin_of(ends, number)} * 16;
    end = std::uint64_t{ends[number]} * 16;
  };
  CodedPlace coded;
  std::uint64_t begin = 0, end = 0;
  range(header_size, begin, end);
  if (begin > end || end > frame.heap_size) return coded;
  coded.heap = frame.heap + begin;
  coded.heap_size = end - begin;
  if (frame.is_uniform) {
    if (frame.is_nominal) {
      begin = place_of<false>(chunk, number).body;
      end = begin + nominal_body_size(chunk, number);
    } else {
      const BodySizes sizes = frame.mode == raw_mode ? raw_sizes(chunk) : other_sizes(chunk);
      begin = body_begin(chunk, sizes, number);
      end = body_begin(chunk, sizes, number + 1);
    }
    coded.mode = frame.mode;
  } else {
    range(frame.body_ends, begin, end);
    coded.mode = static_cast<TileMode>(chunk.in[frame.modes + number]);
  }
  if (begin > end || end > frame.bodies_size) return coded;
  coded.body = frame.bodies + begin;
  coded.body_size = end - begin;
  coded.is_sound = true;
  return coded;
}

}  // namespace offramp::tiles::gpu
