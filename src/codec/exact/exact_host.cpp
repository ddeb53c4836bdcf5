// SPDX-License-Identifier: Apache-2.0
// The reference loops: the definition of what the kernels compute, written to be read.
#include "codec/exact/exact_kernels.hpp"
#include "codec/exact/exact_view.hpp"
#include "codec/tiles/words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace offramp::exact {
namespace {

using tiles::ConstLines;
using tiles::Lines;

BitRange range(const std::uint8_t* plane, std::size_t n) {
  BitRange bits;
  for (std::size_t k = 0; k < n; ++k) {
    bits.any = static_cast<std::uint8_t>(bits.any | plane[k]);
    bits.all = static_cast<std::uint8_t>(bits.all & plane[k]);
  }
  return bits;
}

SplitFacts split(DType dtype, bool zigzag, ConstLines values, std::size_t n, const Planes& planes) {
  const std::size_t elem_size = size_of(dtype);
  SplitFacts facts;
  for_each_run(values, n, elem_size, [&](std::size_t first, std::size_t size) {
    const std::byte* from = values.at(first, elem_size);
    const Planes to = planes_from(planes, first);
    if (dtype == DType::bf16) {
      split_bf16(from, size, to);
    } else {
      visit_view(dtype, zigzag, [&]<class View>() { split_view<View>(from, size, to); });
    }
    for (std::size_t k = 0; k < size; ++k, from += elem_size) {
      facts.zeros += tiles::is_zero({from, elem_size});
    }
  });
  for (std::size_t p = 0; p < plane_view(dtype).planes; ++p) facts.ranges[p] = range(planes[p], n);
  return facts;
}

void join(DType dtype, bool zigzag, const Planes& planes, std::size_t n, Lines values) {
  for_each_run(values, n, size_of(dtype), [&](std::size_t first, std::size_t size) {
    std::byte* to = values.at(first, size_of(dtype));
    const Planes from = planes_from(planes, first);
    if (dtype == DType::bf16) return join_bf16(from, size, to);
    visit_view(dtype, zigzag, [&]<class View>() { join_view<View>(from, size, to); });
  });
}

void count_window(const std::uint8_t* plane, Sample sample, WindowCounts& counts) {
  counts = {};
  const std::size_t rows = ceil_div(sample.rows, sample.step);
  const auto at = [&](std::size_t row, std::size_t c) {
    return plane[row * sample.step * sample.width + c];
  };
  for (std::size_t c = 0; c < sample.width; ++c) {
    for (std::size_t r = 0; r < rows; r += 2) {
      const std::uint8_t lower = std::min(at(r, c), at(std::min(r + 1, rows - 1), c));
      counts.top[c] = std::max(counts.top[c], lower);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const auto t = static_cast<std::uint8_t>(counts.top[c] + window_above - at(r, c));
      if (t < window) ++counts.count[t][c];
    }
  }
}

void score_window(const WindowCounts& counts, WindowScores& scores) {
  scores = {};
  for (int j = 0; j < static_cast<int>(window); ++j) {
    auto& row = scores.score[static_cast<std::size_t>(j)];
    for (std::size_t c = 0; c < tile_width; ++c) {
      unsigned score = 0;
      for (int d = lowest_distance; d <= highest_distance; ++d) {
        const int t = j - d;
        if (t < 0 || t >= static_cast<int>(window)) continue;
        score +=
            score_of_distance[d - lowest_distance] * counts.count[static_cast<std::size_t>(t)][c];
      }
      row[c] = static_cast<std::uint8_t>(score);
      if (j > 0 && row[c] <= scores.best[c]) continue;
      scores.best[c] = row[c];
      scores.place[c] = static_cast<std::uint8_t>(j);
    }
  }
}

unsigned code_of(int tier, std::uint8_t v) {
  switch (tier) {
    case 1:
      return std::min<unsigned>(static_cast<std::uint8_t>(3 - v), 3);
    case 2:
      return std::min<unsigned>(std::max<unsigned>(v, 3) - 3, 3);
    case 3:
      return std::min<unsigned>(static_cast<std::uint8_t>(v - 6), 3);
    default:
      return v == 9 ? 0 : v == 10 ? 1 : v == 255 ? 2 : 3;
  }
}

constexpr std::uint8_t v_of[5][3] = {{}, {3, 2, 1}, {0, 4, 5}, {6, 7, 8}, {9, 10, 255}};

// Where code t stands in a tier's bytes.
std::size_t code_byte(int tier, std::size_t t) { return tier == 2 ? t / 8 * 2 + t % 4 / 2 : t / 4; }
std::size_t code_shift(int tier, std::size_t t) {
  return tier == 2 ? 4 * (t % 2) + 2 * (t / 4 % 2) : 2 * (t % 4);
}

std::size_t encode_tier(int tier, const std::uint8_t* v, std::size_t n, std::uint8_t* codes,
                        std::uint8_t* next) {
  std::memset(codes, 0, tier == 2 ? ceil_div(n, 8) * 2 : ceil_div(n, 4));
  std::size_t left = 0;
  for (std::size_t t = 0; t < n; ++t) {
    const unsigned code = code_of(tier, v[t]);
    std::uint8_t& byte = codes[code_byte(tier, t)];
    byte = static_cast<std::uint8_t>(byte | code << code_shift(tier, t));
    if (code == 3) next[left++] = v[t];
  }
  return left;
}

void decode_tier(int tier, const std::uint8_t* codes, std::size_t n, const std::uint8_t* next,
                 std::uint8_t* v) {
  for (std::size_t t = 0; t < n; ++t) {
    const unsigned code = codes[code_byte(tier, t)] >> code_shift(tier, t) & 3u;
    v[t] = code == 3 ? *next++ : v_of[tier][code];
  }
}

std::size_t encode_block(const std::uint8_t* plane, const BaseCycle& bases, std::uint32_t phase,
                         std::uint8_t* codes, std::uint8_t* next) {
  std::size_t left = 0;
  for (std::size_t lane = 0; lane < 8; ++lane) {
    std::uint16_t word[8] = {};
    for (std::size_t row = 0; row < 8; ++row) {
      for (std::size_t c = 0; c < 8; ++c) {
        const std::size_t k = 64 * row + 8 * lane + c;
        const std::uint8_t base = bases.bytes[(phase + k) % bases.width];
        const auto v = static_cast<std::uint8_t>(base + 3 - plane[k]);
        const unsigned code = code_of(1, v);
        word[c] = static_cast<std::uint16_t>(word[c] << 2 | code);
        if (code == 3) next[left++] = v;
      }
    }
    std::memcpy(codes + 16 * lane, word, 16);
  }
  return left;
}

std::size_t decode_block(const std::uint8_t* codes, const BaseCycle& bases, std::uint32_t phase,
                         const std::uint8_t* next, std::uint8_t* plane) {
  const std::uint8_t* from = next;
  for (std::size_t lane = 0; lane < 8; ++lane) {
    for (std::size_t row = 0; row < 8; ++row) {
      for (std::size_t c = 0; c < 8; ++c) {
        const std::size_t k = 64 * row + 8 * lane + c;
        const std::uint8_t base = bases.bytes[(phase + k) % bases.width];
        const unsigned code = load<std::uint16_t>(codes + 16 * lane + 2 * c) >> (14 - 2 * row) & 3u;
        const std::uint8_t v = code == 3 ? *next++ : v_of[1][code];
        plane[k] = static_cast<std::uint8_t>(base + 3 - v);
      }
    }
  }
  return static_cast<std::size_t>(next - from);
}

std::size_t count_escapes(const std::uint8_t* codes, std::size_t size) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    count += static_cast<std::size_t>(std::popcount(codes[i] & codes[i] >> 1 & 0x55u));
  }
  return count;
}

// Where value k of a byte plane stands: lanes' bytes of two rows together, the tail as it is.
std::size_t byte_place(std::size_t k, std::size_t n) {
  if (k >= n / block_values * block_values) return k;
  const std::size_t row = k / 64 % 8, lane = k / 8 % 8, c = k % 8;
  return k / block_values * block_values + row / 2 * 128 + lane * 16 + row % 2 * 8 + c;
}

void store_bytes(const std::uint8_t* plane, std::size_t n, std::uint8_t* packed) {
  for (std::size_t k = 0; k < n; ++k) packed[byte_place(k, n)] = plane[k];
}

void load_bytes(const std::uint8_t* packed, std::size_t n, std::uint8_t* plane) {
  for (std::size_t k = 0; k < n; ++k) plane[k] = packed[byte_place(k, n)];
}

void store_bits(const std::uint8_t* plane, std::size_t n, std::uint8_t mask, std::uint8_t* packed) {
  for (int bit = 0; bit < 8; ++bit) {
    if (!(mask >> bit & 1)) continue;
    std::memset(packed, 0, ceil_div(n, 8));
    for (std::size_t k = 0; k < n; ++k) {
      packed[k / 8] = static_cast<std::uint8_t>(packed[k / 8] | (plane[k] >> bit & 1) << (k % 8));
    }
    packed += ceil_div(n, 8);
  }
}

void load_bits(const std::uint8_t* packed, std::size_t n, std::uint8_t mask, std::uint8_t constant,
               std::uint8_t* plane) {
  std::memset(plane, constant, n);
  for (int bit = 0; bit < 8; ++bit) {
    if (!(mask >> bit & 1)) continue;
    for (std::size_t k = 0; k < n; ++k) {
      plane[k] = static_cast<std::uint8_t>(plane[k] | (packed[k / 8] >> (k % 8) & 1) << bit);
    }
    packed += ceil_div(n, 8);
  }
}

}  // namespace

const Kernels& reference_kernels() noexcept {
  static constexpr Kernels kernels{
      .split = split,
      .join = join,
      .range = range,
      .count_window = count_window,
      .score_window = score_window,
      .encode_block = encode_block,
      .encode_tier = encode_tier,
      .decode_block = decode_block,
      .decode_tier = decode_tier,
      .count_escapes = count_escapes,
      .store_bytes = store_bytes,
      .load_bytes = load_bytes,
      .store_bits = store_bits,
      .load_bits = load_bits,
  };
  return kernels;
}

}  // namespace offramp::exact
