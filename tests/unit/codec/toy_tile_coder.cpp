// SPDX-License-Identifier: Apache-2.0
#include "toy_tile_coder.hpp"

#include "codec/tiles/frame.hpp"
#include "codec/tiles/tile_stage.hpp"
#include "core/bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace offramp::tiles {
namespace {

constexpr std::byte junk{0xee};

std::size_t max_body_size(DType dtype) { return tile_values * size_of(dtype) + 48; }
std::size_t max_heap_size(DType) { return 2 * tile_values + 16; }
std::size_t scratch_size(DType dtype) { return tile_values * size_of(dtype); }

std::size_t body_size(DType dtype, TileExtent extent, TileMode mode) {
  const std::size_t size =
      round_up(1 + std::size_t{extent.values} * (size_of(dtype) - 1), section_alignment);
  return mode == toy_long ? size + 16 : size;
}

std::size_t nominal_body_size(DType dtype, TileExtent extent, TileMode mode) {
  if (mode == raw_mode) return raw_size(dtype, extent);
  return mode == toy_runs ? body_size(dtype, extent, mode) : 0;
}

CodedTile encode_raw(DType dtype, TileExtent extent, const std::byte* values, std::byte* body) {
  const std::size_t size = extent.values * size_of(dtype);
  std::memset(body, 0, raw_size(dtype, extent));
  std::memcpy(body, values, size);
  return {.mode = raw_mode, .body_size = static_cast<std::uint32_t>(raw_size(dtype, extent))};
}

bool may_lie_so(DType dtype, TileExtent extent, ConstLines lines) {
  return extent.width == tile_width || !lines.has_gaps(size_of(dtype));
}

CodedTile encode(DType dtype, TileExtent extent, ConstLines lines, std::byte* body, std::byte* heap,
                 std::byte* scratch) {
  const std::size_t width = size_of(dtype);
  EXPECT_TRUE(may_lie_so(dtype, extent, lines));
  const std::byte* const end = lines.at(extent.values - 1, width) + width;
  std::memset(body, static_cast<int>(junk), max_body_size(dtype));
  std::memset(heap, static_cast<int>(junk), max_heap_size(dtype));
  std::memset(scratch, static_cast<int>(junk), scratch_size(dtype));
  for (std::uint32_t i = 0; i < extent.values; ++i) {
    std::memcpy(scratch + i * width, lines.at(i, width), width);
  }
  const std::byte* const values = scratch;
  [[maybe_unused]] volatile std::byte seen{};
  for (std::size_t i = 0; i < read_slack; ++i) seen = end[i];
  const std::size_t raw = raw_size(dtype, extent);
  if (raw > 16 && std::equal(values + width, values + extent.values * width, values)) {
    std::memset(body, 0, 16);
    std::memcpy(body, values, width);
    return {.mode = toy_constant, .body_size = 16};
  }
  const TileMode mode = values[0] == std::byte{0x77} ? toy_long : toy_runs;
  const std::size_t size = body_size(dtype, extent, mode);
  std::memset(body, 0, size);
  body[0] = values[0];
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < extent.values; ++i) {
    std::memcpy(body + 1 + i * (width - 1), values + i * width, width - 1);
    const std::byte last = values[i * width + width - 1];
    if (used != 0 && heap[used - 1] == last && heap[used - 2] != std::byte{255}) {
      heap[used - 2] = static_cast<std::byte>(static_cast<int>(heap[used - 2]) + 1);
    } else {
      heap[used++] = std::byte{1};
      heap[used++] = last;
    }
  }
  const std::size_t heap_size = round_up(used, section_alignment);
  if (size + heap_size > raw) return encode_raw(dtype, extent, values, body);
  std::memset(heap + used, 0, heap_size - used);
  return {.mode = mode,
          .body_size = static_cast<std::uint32_t>(size),
          .heap_size = static_cast<std::uint32_t>(heap_size)};
}

bool decode(DType dtype, TileExtent extent, TileMode mode, std::span<const std::byte> body,
            std::span<const std::byte> heap, Lines lines, std::byte* scratch) {
  const std::size_t width = size_of(dtype);
  EXPECT_TRUE(may_lie_so(dtype, extent, lines));
  std::memset(scratch, static_cast<int>(junk), scratch_size(dtype));
  if (mode == raw_mode) {
    if (body.size() != raw_size(dtype, extent) || !heap.empty()) return false;
    for (std::uint32_t i = 0; i < extent.values; ++i) {
      std::memcpy(lines.at(i, width), body.data() + i * width, width);
    }
    return true;
  }
  if (mode == toy_constant) {
    if (body.size() != 16 || !heap.empty()) return false;
    for (std::uint32_t i = 0; i < extent.values; ++i) {
      std::memcpy(lines.at(i, width), body.data(), width);
    }
    return true;
  }
  if (mode > toy_long || body.size() != body_size(dtype, extent, mode)) return false;
  std::size_t used = 0;
  std::uint32_t value = 0;
  while (value < extent.values) {
    if (used + 2 > heap.size()) return false;
    const auto run = static_cast<std::uint32_t>(heap[used]);
    if (run == 0 || run > extent.values - value) return false;
    for (const std::uint32_t end = value + run; value < end; ++value) {
      std::byte* const to = lines.at(value, width);
      std::memcpy(to, body.data() + 1 + value * (width - 1), width - 1);
      to[width - 1] = heap[used + 1];
    }
    used += 2;
  }
  return round_up(used, section_alignment) == heap.size();
}

constexpr TileCoder coder{.max_body_size = max_body_size,
                          .max_heap_size = max_heap_size,
                          .scratch_size = scratch_size,
                          .nominal_body_size = nominal_body_size,
                          .usual_mode = [](DType) { return toy_runs; },
                          .encode = encode,
                          .decode = decode};

TileStageName toy_name() noexcept {
  return {.id = StageId{0xfffe}, .name = "toy", .coder = toy_tile_coder};
}

}  // namespace

const TileCoder& toy_tile_coder() noexcept { return coder; }

StageRow toy_stage() noexcept { return tile_stage<toy_name>(); }

}  // namespace offramp::tiles
