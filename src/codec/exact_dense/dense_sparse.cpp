// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/dense_tile.hpp"
#include "codec/tiles/words.hpp"
#include "core/bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace offramp::exact_dense {
namespace {

/// Where the values that are not zero go: channel after channel, filled from the top.
class InnerPlaces {
 public:
  explicit InnerPlaces(std::uint32_t count)
      : rows_((count + pitch - 1) / pitch), full_channels_(count - (rows_ - 1) * pitch) {}

  [[nodiscard]] TileExtent extent(std::uint32_t count) const { return {rows_, pitch, count}; }

  /// The place of the next value in the inner tile, which lies row by row.
  std::uint32_t next() {
    const std::uint32_t height = rows_ - (channel_ >= full_channels_);
    if (row_ == height) {
      row_ = 0;
      ++channel_;
    }
    return row_++ * pitch + channel_;
  }

 private:
  std::uint32_t rows_;
  std::uint32_t full_channels_;
  std::uint32_t row_{};
  std::uint32_t channel_{};
};

std::size_t bitmap_size(TileExtent extent) {
  return ceil_div(std::size_t{extent.width} * extent.rows, 32) * 4;
}

std::uint32_t rows_of_channel(TileExtent extent, std::uint32_t channel) {
  const std::uint32_t last = extent.values - (extent.rows - 1) * extent.width;
  return extent.rows - (channel >= last);
}

template <class Bits>
void compact(const std::byte* values, TileExtent extent, std::uint32_t count, std::byte* bitmap,
             std::byte* inner) {
  InnerPlaces places(count);
  std::memset(bitmap, 0, bitmap_size(extent));
  for (std::uint32_t c = 0; c < extent.width; ++c) {
    std::uint32_t bit = c * extent.rows;
    for (std::uint32_t r = 0; r < rows_of_channel(extent, c); ++r, ++bit) {
      const auto value = load<Bits>(values + (r * extent.width + c) * sizeof(Bits));
      if (value == 0) continue;
      bitmap[bit / 8] |= static_cast<std::byte>(1U << bit % 8);
      store(inner + places.next() * sizeof(Bits), value);
    }
  }
}

/// False where a bit stands for a value that does not exist, or a value is zero.
template <class Bits>
bool expand(const std::byte* bitmap, const std::byte* inner, TileExtent extent, std::uint32_t count,
            tiles::Lines values) {
  InnerPlaces places(count);
  bool good = true;
  for (std::uint32_t c = 0; c < extent.width; ++c) {
    std::uint32_t bit = c * extent.rows;
    const std::uint32_t rows = rows_of_channel(extent, c);
    for (std::uint32_t r = 0; r < extent.rows; ++r, ++bit) {
      const bool set = (bitmap[bit / 8] >> bit % 8 & std::byte{1}) != std::byte{0};
      if (r >= rows) {
        // Such a bit would take one of the `count` values away from the others.
        if (set) return false;
        continue;
      }
      Bits value = 0;
      if (set) {
        value = load<Bits>(inner + places.next() * sizeof(Bits));
        good &= value != 0;
      }
      store(values.at(std::size_t{r} * extent.width + c, sizeof(Bits)), value);
    }
  }
  return good;
}

std::uint32_t count_bits(const std::byte* bitmap, std::size_t size) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < size; i += 4) {
    count += static_cast<std::uint32_t>(std::popcount(load<std::uint32_t>(bitmap + i)));
  }
  return count;
}

}  // namespace

std::optional<Sizes> encode_sparse(const Kernels& kernels, DType dtype, TileExtent extent,
                                   unsigned rest_bits, const std::byte* values, std::size_t limit,
                                   std::byte* body, std::byte* heap, std::byte* inner,
                                   Workspace& workspace) {
  const std::size_t head = round_up(bitmap_size(extent), tiles::section_alignment);
  if (head >= limit) return std::nullopt;
  const std::uint32_t count = tiles::visit_word(size_of(dtype), [&]<class Bits>(Bits) {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < extent.values; ++i) {
      n += load<Bits>(values + i * sizeof(Bits)) != 0;
    }
    return n;
  });
  if (count == 0) return std::nullopt;
  std::memset(body, 0, head);
  tiles::visit_word(size_of(dtype),
                    [&]<class Bits>(Bits) { compact<Bits>(values, extent, count, body, inner); });
  auto sizes = encode_plain(kernels, dtype, InnerPlaces(count).extent(count), rest_bits, inner,
                            limit - head, body + head, heap, workspace);
  if (sizes) sizes->body += head;
  return sizes;
}

bool decode_sparse(const Kernels& kernels, DType dtype, TileExtent extent,
                   std::span<const std::byte> body, std::span<const std::byte> heap,
                   tiles::Lines values, std::byte* inner, Workspace& workspace) {
  const std::size_t size = bitmap_size(extent);
  const std::size_t head = round_up(size, tiles::section_alignment);
  if (body.size() < head) return false;
  const std::uint32_t count = count_bits(body.data(), head);
  // Bits behind the last would be counted, but never met below.
  const std::size_t bits = std::size_t{extent.width} * extent.rows;
  for (std::size_t i = bits; i < 8 * head; ++i) {
    if ((body[i / 8] >> i % 8 & std::byte{1}) != std::byte{0}) return false;
  }
  if (count == 0 || count > extent.values) return false;
  if (!decode_plain(kernels, dtype, InnerPlaces(count).extent(count), trimmed_mode,
                    body.subspan(head), heap, tiles::Lines::without_gaps(inner, size_of(dtype)),
                    workspace)) {
    return false;
  }
  return tiles::visit_word(size_of(dtype), [&]<class Bits>(Bits) {
    return expand<Bits>(body.data(), inner, extent, count, values);
  });
}

}  // namespace offramp::exact_dense
