// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/tile.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

namespace offramp::tiles {

/// Values in lines with gaps between them, in memory that ends `slack` bytes behind the last value:
/// the sanitizers see what is read or written beyond. Gaps hold a mark.
class StridedTile {
 public:
  static constexpr std::byte mark{0xa5};

  StridedTile(std::size_t values, std::size_t elem_size, std::size_t pitch, std::size_t slack)
      : values_(values),
        elem_size_(elem_size),
        pitch_(pitch),
        size_(place(values - 1) + elem_size + slack),
        bytes_(size_, mark) {}

  [[nodiscard]] Lines lines() { return {bytes_.data(), pitch_}; }

  void fill(std::span<const std::byte> values) {
    for (std::size_t k = 0; k < values_; ++k) {
      std::memcpy(bytes_.data() + place(k), values.data() + k * elem_size_, elem_size_);
    }
  }
  [[nodiscard]] std::vector<std::byte> values() const {
    std::vector<std::byte> all(values_ * elem_size_);
    for (std::size_t k = 0; k < values_; ++k) {
      std::memcpy(all.data() + k * elem_size_, bytes_.data() + place(k), elem_size_);
    }
    return all;
  }

  /// Whether all that is no value is as it was made.
  [[nodiscard]] bool is_whole_between() const {
    for (std::size_t k = 0; k < values_; k += tile_width) {
      const std::size_t last = std::min<std::size_t>(k + tile_width, values_) - 1;
      const std::size_t begin = place(last) + elem_size_;
      const std::size_t end = last + 1 == values_ ? size_ : place(last + 1);
      const auto gap = std::span(bytes_).subspan(begin, end - begin);
      if (!std::ranges::all_of(gap, [](std::byte b) { return b == mark; })) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t k) const {
    return k / tile_width * pitch_ + k % tile_width * elem_size_;
  }

  std::size_t values_;
  std::size_t elem_size_;
  std::size_t pitch_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

/// Elements between lines: pitches of every alignment, a page for two bytes among them. Each call
/// gives the next, so that many checks see all of them.
inline std::size_t next_line_gap() {
  static constexpr std::size_t gaps[] = {1, 7, 64, 509, 1984};
  static std::size_t turn = 0;
  return gaps[turn++ % std::size(gaps)];
}

}  // namespace offramp::tiles
