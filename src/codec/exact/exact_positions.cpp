// SPDX-License-Identifier: Apache-2.0
#include "codec/exact/exact_positions.hpp"

#include "codec/exact/exact_form.hpp"
#include "codec/tiles/words.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace offramp::exact {
namespace {

enum class Code : unsigned { all = 0, bitmap = 1, elias_fano = 2 };
constexpr unsigned rows_bit = 4;
constexpr std::size_t max_low_bits = 13;
constexpr std::size_t min_dropped_values = 256;

struct Header {
  Code code{};
  bool rows_dropped{};
  std::size_t low_bits{};
  std::size_t kept_rows{};
  std::size_t count{};
};

std::size_t high_bits(std::size_t count, std::size_t n, std::size_t low_bits) {
  return count + ((n - 1) >> low_bits) + 1;
}

std::size_t elias_fano_size(std::size_t count, std::size_t n, std::size_t low_bits) {
  return ceil_div(count * low_bits, 8) + ceil_div(high_bits(count, n, low_bits), 8);
}

std::size_t positions_size(const Header& header, std::size_t n) {
  switch (header.code) {
    case Code::all:
      return 0;
    case Code::bitmap:
      return ceil_div(n, 8);
    case Code::elias_fano:
      return elias_fano_size(header.count, n, header.low_bits);
  }
  return 0;
}

void set_bit(std::byte* bits, std::size_t at) { bits[at / 8] |= std::byte{1} << (at % 8); }
bool get_bit(const std::byte* bits, std::size_t at) {
  return (bits[at / 8] >> (at % 8) & std::byte{1}) != std::byte{};
}

std::size_t row_size(const SparseTile& tile, std::size_t row) {
  return std::min(tile.width, tile.n - row * tile.width);
}

// Calls `f(i)` for each set bit of the first `bits` bits, low to high; 8 bytes at a time, which the
// buffer must hold.
template <class F>
void for_each_bit(const std::byte* map, std::size_t bits, F&& f) {
  for (std::size_t at = 0; at < bits; at += 64) {
    auto word = load<std::uint64_t>(map + at / 8);
    if (bits - at < 64) word &= (std::uint64_t{1} << (bits - at)) - 1;
    for (; word != 0; word &= word - 1) f(at + static_cast<std::size_t>(std::countr_zero(word)));
  }
}

void write_elias_fano(std::span<const std::uint16_t> positions, std::size_t low_bits,
                      std::byte* to) {
  std::byte* high = to + ceil_div(positions.size() * low_bits, 8);
  const std::uint32_t low_mask = (1u << low_bits) - 1;
  std::uint32_t pending = 0;
  std::size_t pending_bits = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    pending |= (positions[i] & low_mask) << pending_bits;
    for (pending_bits += low_bits; pending_bits >= 8; pending_bits -= 8, pending >>= 8) {
      *to++ = static_cast<std::byte>(pending);
    }
    set_bit(high, (positions[i] >> low_bits) + i);
  }
  if (pending_bits > 0) *to = static_cast<std::byte>(pending);
}

Header best_code(std::size_t count, std::size_t n) {
  Header best{.code = Code::bitmap, .count = count};
  std::size_t size = positions_size(best, n);
  for (std::size_t l = 1; l <= max_low_bits; ++l) {
    if (elias_fano_size(count, n, l) >= size) continue;
    size = elias_fano_size(count, n, l);
    best.code = Code::elias_fano;
    best.low_bits = l;
  }
  return best;
}

void write_header(const Header& header, std::byte* to) {
  std::memset(to, 0, sparse_header_size);
  const unsigned flags = static_cast<unsigned>(header.code) | (header.rows_dropped ? rows_bit : 0u);
  store(to, static_cast<std::uint8_t>(flags));
  store(to + 1, static_cast<std::uint8_t>(header.low_bits));
  store(to + 2, static_cast<std::uint16_t>(header.kept_rows));
  store(to + 4, static_cast<std::uint32_t>(header.count));
}

// Header and row bits, checked; `n` is the number of values in kept rows.
bool read_header(const SparseTile& tile, std::span<const std::byte> body, Header& header,
                 std::size_t& n, std::size_t& at) {
  if (body.size() < sparse_header_size) return false;
  const auto flags = load<std::uint8_t>(body.data());
  if (flags > 7 || (flags & 3) > 2 || load<std::uint64_t>(body.data() + 8) != 0) return false;
  header.code = static_cast<Code>(flags & 3);
  header.rows_dropped = (flags & rows_bit) != 0;
  header.low_bits = load<std::uint8_t>(body.data() + 1);
  header.kept_rows = load<std::uint16_t>(body.data() + 2);
  header.count = load<std::uint32_t>(body.data() + 4);
  at = sparse_header_size;
  n = tile.n;
  if (header.rows_dropped) {
    const std::size_t size = padded(ceil_div(tile.rows, 8));
    if (body.size() - at < size) return false;
    const std::byte* bits = body.data() + at;
    std::size_t kept = 0;
    n = 0;
    for (std::size_t r = 0; r < 8 * size; ++r) {
      if (!get_bit(bits, r)) continue;
      if (r >= tile.rows) return false;
      ++kept;
      n += row_size(tile, r);
    }
    if (kept != header.kept_rows) return false;
    at += size;
  } else if (header.kept_rows != tile.rows) {
    return false;
  }
  if (header.count == 0 || header.count > n) return false;
  if (header.code == Code::all && header.count != n) return false;
  if (header.code != Code::elias_fano) return header.low_bits == 0;
  return header.low_bits >= 1 && header.low_bits <= max_low_bits &&
         positions_size(header, n) < ceil_div(n, 8);
}

// Room for positions, with 8 bytes behind them to load words from. A bitmap is never larger, and
// `read_header` refuses Elias-Fano that is no smaller.
constexpr std::size_t max_positions_size = tile_values / 8;
using PositionMap = std::array<std::byte, max_positions_size + 8>;

// Marks the positions in `map`, a bit for each of the n values.
bool read_elias_fano(const Header& header, std::size_t n, std::span<const std::byte> section,
                     PositionMap& map) {
  PositionMap copy{};
  std::memcpy(copy.data(), section.data(), section.size());
  const std::size_t low_bits = header.low_bits;
  const std::size_t all_low_bits = header.count * low_bits;
  const std::byte* high = copy.data() + ceil_div(all_low_bits, 8);
  if (all_low_bits % 8 != 0 && (copy[all_low_bits / 8] >> (all_low_bits % 8)) != std::byte{}) {
    return false;
  }
  const std::size_t bits = high_bits(header.count, n, low_bits);
  if (bits % 8 != 0 && (high[bits / 8] >> (bits % 8)) != std::byte{}) return false;

  const std::uint32_t low_mask = (1u << low_bits) - 1;
  std::size_t found = 0, next = 0;
  bool sound = true;
  for_each_bit(high, bits, [&](std::size_t b) {
    if (found == header.count) {
      sound = false;
      return;
    }
    const std::size_t low_at = found * low_bits;
    const std::uint32_t low =
        load<std::uint32_t>(copy.data() + low_at / 8) >> (low_at % 8) & low_mask;
    const std::size_t position = (b - found) << low_bits | low;
    sound = sound && position >= next && position < n;
    if (sound) set_bit(map.data(), position);
    next = position + 1;
    ++found;
  });
  return sound && found == header.count;
}

}  // namespace

SparseRest encode_positions(SparseTile tile, tiles::ConstLines values, std::byte* kept,
                            std::byte* body) {
  const std::size_t size = tile.elem_size;
  std::array<bool, tiles::tile_rows> row_kept{};
  std::size_t dropped = 0, dropped_rows = 0;
  for (std::size_t r = 0; r < tile.rows; ++r) {
    const std::byte* row = values.at(r * tile.width, size);
    row_kept[r] = !tiles::is_zero({row, row_size(tile, r) * size});
    if (!row_kept[r]) {
      dropped += row_size(tile, r);
      ++dropped_rows;
    }
  }
  const bool drop = dropped >= min_dropped_values && dropped < tile.n;
  if (!drop) row_kept.fill(true);

  // All values of the kept rows, and the positions of those that are not zero.
  std::array<std::uint16_t, tile_values + 1> positions;
  std::size_t n = 0, count = 0;
  tiles::visit_word(size, [&](auto word) {
    using Word = decltype(word);
    for (std::size_t r = 0; r < tile.rows; ++r) {
      if (!row_kept[r]) continue;
      const std::byte* row = values.at(r * tile.width, size);
      const std::size_t length = row_size(tile, r);
      std::memcpy(kept + n * size, row, length * size);
      for (std::size_t c = 0; c < length; ++c) {
        positions[count] = static_cast<std::uint16_t>(n + c);
        count += load<Word>(row + c * size) != 0;
      }
      n += length;
    }
  });
  Header header{.code = Code::all, .count = n};
  if (8 * (n - count) >= n) {
    if (count == 0) return {};
    header = best_code(count, n);
    tiles::visit_word(size, [&](auto word) {
      for (std::size_t i = 0; i < count; ++i) {
        store(kept + i * size, load<decltype(word)>(kept + positions[i] * size));
      }
    });
  } else if (!drop) {
    return {};
  }
  header.rows_dropped = drop;
  header.kept_rows = drop ? tile.rows - dropped_rows : tile.rows;
  write_header(header, body);
  std::size_t at = sparse_header_size;
  if (drop) {
    std::memset(body + at, 0, padded(ceil_div(tile.rows, 8)));
    for (std::size_t r = 0; r < tile.rows; ++r) {
      if (row_kept[r]) set_bit(body + at, r);
    }
    at += padded(ceil_div(tile.rows, 8));
  }
  const std::size_t section = padded(positions_size(header, n));
  std::memset(body + at, 0, section);
  if (header.code == Code::bitmap) {
    for (std::size_t i = 0; i < count; ++i) set_bit(body + at, positions[i]);
  } else if (header.code == Code::elias_fano) {
    write_elias_fano({positions.data(), count}, header.low_bits, body + at);
  }
  return {.n = header.count, .by_channel = header.code == Code::all, .body_size = at + section};
}

bool read_positions(SparseTile tile, std::span<const std::byte> body, SparseRest& rest) {
  Header header;
  std::size_t n = 0, at = 0;
  if (!read_header(tile, body, header, n, at)) return false;
  const std::size_t section = positions_size(header, n);
  if (body.size() - at < padded(section)) return false;
  if (!tiles::is_zero(body.subspan(at + section, padded(section) - section))) return false;
  rest = {
      .n = header.count, .by_channel = header.code == Code::all, .body_size = at + padded(section)};
  return true;
}

bool scatter(SparseTile tile, std::span<const std::byte> body, const SparseRest& rest,
             const std::byte* kept, tiles::Lines values) {
  Header header;
  std::size_t n = 0, at = 0;
  if (!read_header(tile, body, header, n, at)) return false;
  PositionMap map{};
  const auto section = body.subspan(at, positions_size(header, n));
  if (header.code == Code::elias_fano) {
    if (!read_elias_fano(header, n, section, map)) return false;
  } else if (header.code == Code::bitmap) {
    std::memcpy(map.data(), section.data(), section.size());
    if (n % 8 != 0 && (map[n / 8] >> (n % 8)) != std::byte{}) return false;
    std::size_t count = 0;
    for (std::size_t b = 0; b < map.size(); b += 8) {
      count += static_cast<std::size_t>(std::popcount(load<std::uint64_t>(map.data() + b)));
    }
    if (count != rest.n) return false;
  }
  const std::byte* row_bits = body.data() + sparse_header_size;
  const std::size_t size = tile.elem_size;
  for_each_run(values, tile.n, size, [&](std::size_t k, std::size_t run) {
    std::memset(values.at(k, size), 0, run * size);
  });
  if (header.code != Code::all && !header.rows_dropped) {
    tiles::visit_word(size, [&](auto word) {
      for_each_bit(map.data(), n, [&](std::size_t k) {
        store(values.at(k, size), load<decltype(word)>(kept));
        kept += size;
      });
    });
    return true;
  }
  std::size_t k = 0;  // among the kept rows' values
  for (std::size_t r = 0; r < tile.rows; ++r) {
    if (header.rows_dropped && !get_bit(row_bits, r)) continue;
    std::byte* row = values.at(r * tile.width, size);
    const std::size_t length = row_size(tile, r);
    if (header.code == Code::all) {
      std::memcpy(row, kept + k * size, length * size);
    } else {
      for (std::size_t c = 0; c < length; ++c) {
        if (!get_bit(map.data(), k + c)) continue;
        std::memcpy(row + c * size, kept, size);
        kept += size;
      }
    }
    k += length;
  }
  return true;
}

}  // namespace offramp::exact
