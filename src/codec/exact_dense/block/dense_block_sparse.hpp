// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_values.hpp"

#include <cstddef>
#include <cstdint>

// spec.md, Sparse: values channel after channel, a bit each, and those that are not zero as a tile.

namespace offramp::exact_dense::block {

/// Where the values that are not zero go: channel after channel, filled from the top.
struct InnerPlaces {
  std::uint32_t rows{};
  std::uint32_t full_channels{};

  [[nodiscard]] static constexpr InnerPlaces of(std::uint32_t count) {
    const std::uint32_t rows = div_up(count, pitch);
    return {rows, count - (rows - 1) * pitch};
  }
  /// Of value number k, in the inner tile's rows.
  [[nodiscard]] constexpr std::uint32_t at(std::uint32_t k) const {
    const std::uint32_t in_full = rows * full_channels;
    if (k < in_full) return k % rows * pitch + k / rows;
    k -= in_full;
    return k % (rows - 1) * pitch + full_channels + k / (rows - 1);
  }
};

[[nodiscard]] constexpr std::uint32_t bitmap_size(TileExtent extent) {
  return div_up(extent.width * extent.rows, 32) * 4;
}
[[nodiscard]] constexpr std::uint32_t bitmap_room(TileExtent extent) {
  return static_cast<std::uint32_t>(round_up(bitmap_size(extent), tiles::section_alignment));
}

/// Value number i in the order of channels.
struct ChannelOrder {
  exact::block::RowDivider divider;
  TileExtent extent;

  OFFRAMP_DEVICE explicit ChannelOrder(TileExtent e) : divider(e.rows), extent(e) {}
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t count() const { return extent.rows * extent.width; }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t channel(std::uint32_t i) const {
    return divider.row(i);
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t row(std::uint32_t i) const {
    return divider.column(i);
  }
  [[nodiscard]] OFFRAMP_DEVICE bool exists(std::uint32_t i) const {
    return has_value(extent, row(i), channel(i));
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint64_t get(const ValueRows& values, std::uint32_t i) const {
    return exists(i) ? values.get(row(i), channel(i)) : 0;
  }
};

/// Copies the `count` values that are not zero to the rows of the inner tile.
template <class B>
OFFRAMP_DEVICE void compact(B& block, const ValueRows& values, TileExtent extent,
                            std::uint32_t count, const ValueRows& inner) {
  const ChannelOrder order(extent);
  const InnerPlaces places = InnerPlaces::of(count);
  block.scan(
      order.count(), [&](std::uint32_t i) { return order.get(values, i) != 0 ? 1u : 0u; },
      [&](std::uint32_t i, std::uint32_t before) {
        const std::uint64_t bits = order.get(values, i);
        if (bits != 0) inner.set(0, places.at(before), bits);
      });
}

/// The bitmap, padded.
template <class B>
OFFRAMP_DEVICE void write_bitmap(B& block, const ValueRows& values, TileExtent extent,
                                 std::uint8_t* to) {
  const ChannelOrder order(extent);
  block.for_each(bitmap_room(extent) / 4, [&](std::uint32_t w) {
    std::uint32_t word = 0;
    for (std::uint32_t j = 0; j < 32 && 32 * w + j < order.count(); ++j) {
      word |= (order.get(values, 32 * w + j) != 0 ? 1u : 0u) << j;
    }
    store_aligned(to + std::size_t{4} * w, word);
  });
}

/// The number of values that a padded bitmap keeps; 0 where it has bits of no value.
template <class B>
OFFRAMP_DEVICE std::uint32_t count_kept(B& block, TileExtent extent, const std::uint8_t* bitmap) {
  const ChannelOrder order(extent);
  struct Seen {
    std::uint32_t count, stray;
  };
  const Seen seen = block.reduce(
      8 * bitmap_room(extent), Seen{},
      [&](std::uint32_t i) {
        const std::uint32_t bit = bitmap[i / 8] >> i % 8 & 1u;
        return Seen{bit, i < order.count() && order.exists(i) ? 0u : bit};
      },
      [](const Seen& a, const Seen& b) {
        return Seen{a.count + b.count, a.stray | b.stray};
      });
  return seen.stray == 0 ? seen.count : 0;
}

/// Puts the kept values, and zeros, to their places. False where a kept value is zero.
template <class B>
OFFRAMP_DEVICE bool expand(B& block, const std::uint8_t* bitmap, const ValueRows& inner,
                           TileExtent extent, std::uint32_t count, const ValueRows& values) {
  const ChannelOrder order(extent);
  const InnerPlaces places = InnerPlaces::of(count);
  if (!all_of(block, count, [&](std::uint32_t k) { return inner.get(0, k) != 0; })) return false;
  const auto bit_of = [&](std::uint32_t i) { return bitmap[i / 8] >> i % 8 & 1u; };
  block.scan(order.count(), bit_of, [&](std::uint32_t i, std::uint32_t before) {
    if (!order.exists(i)) return;
    values.set(order.row(i), order.channel(i),
               bit_of(i) != 0 ? inner.get(0, places.at(before)) : 0);
  });
  return true;
}

}  // namespace offramp::exact_dense::block
