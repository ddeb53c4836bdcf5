// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/coding_tables.hpp"
#include "codec/exact_dense/dense_choice.hpp"
#include "codec/exact_dense/dense_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

// The definition of the stream: one lane after the other inside a step, no trick that spec.md does
// not tell.
namespace offramp::exact_dense {
namespace {

/// Calls f(p, shift of the piece in the field, first word of the piece in the tile) for each piece.
template <class F>
void for_each_piece(const Field& field, std::uint32_t chunk, std::uint32_t rows, F&& f) {
  std::uint32_t word = field.first_word(chunk, rows);
  unsigned left = field.bits;
  for (unsigned p = 4; p > 0; p /= 2) {
    if ((field.bits & p) == 0) continue;
    left -= p;
    f(p, left, word);
    word += field_words(rows, p);
  }
}

/// Where step v = 2 * row + half of a chunk has its piece of p bits.
struct PiecePlace {
  std::uint32_t word;
  unsigned shift;
};

constexpr PiecePlace piece_place(std::uint32_t v, unsigned p) {
  return {v * p / 32, 8 * (v % 4) + p * (v / 4 % (8 / p))};
}

std::uint32_t rows_of_chunk(TileExtent extent, std::uint32_t chunk) {
  return std::min(chunk_rows, extent.rows - chunk * chunk_rows);
}

std::uint32_t chunks_of(TileExtent extent) { return (extent.rows + chunk_rows - 1) / chunk_rows; }

void pack(const std::uint16_t* words, TileExtent extent, const Field& field, std::uint32_t* rest) {
  const std::uint32_t lanes = lanes_of(extent);
  for (std::uint32_t g = 0; g < chunks_of(extent); ++g) {
    const std::uint32_t rows = rows_of_chunk(extent, g);
    for_each_piece(field, g, rows, [&](unsigned p, unsigned down, std::uint32_t first) {
      std::fill_n(rest + first * lanes, field_words(rows, p) * lanes, 0);
      for (std::uint32_t v = 0; v < 2 * rows; ++v) {
        const auto [word, shift] = piece_place(v, p);
        const std::uint16_t* row = words + (g * chunk_rows + v / 2) * pitch;
        for (std::uint32_t l = 0; l < lanes; ++l) {
          const std::uint32_t piece = row[2 * l + v % 2] >> field.shift >> down & ((1U << p) - 1);
          rest[(first + word) * lanes + l] |= piece << shift;
        }
      }
    });
  }
}

void unpack(const std::uint32_t* rest, TileExtent extent, const Field& field,
            const std::uint16_t* words, Rows out) {
  const std::uint32_t lanes = lanes_of(extent);
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    if (out[r] != words + r * pitch) std::copy_n(words + r * pitch, pitch, out[r]);
  }
  for (std::uint32_t g = 0; g < chunks_of(extent); ++g) {
    const std::uint32_t rows = rows_of_chunk(extent, g);
    for_each_piece(field, g, rows, [&](unsigned p, unsigned down, std::uint32_t first) {
      for (std::uint32_t v = 0; v < 2 * rows; ++v) {
        const auto [word, shift] = piece_place(v, p);
        std::uint16_t* row = out[g * chunk_rows + v / 2];
        for (std::uint32_t l = 0; l < lanes; ++l) {
          const std::uint32_t piece = rest[(first + word) * lanes + l] >> shift & ((1U << p) - 1);
          row[2 * l + v % 2] =
              static_cast<std::uint16_t>(row[2 * l + v % 2] | piece << down << field.shift);
        }
      }
    });
  }
}

/// A word as its channel codes it.
struct Coded {
  std::uint32_t exponent, sign, top_bit, distance;
  bool escapes;
};

Coded code(const std::uint16_t* words, std::uint32_t row, std::uint32_t channel,
           const TilePlan& plan) {
  const std::uint32_t word = words[row * pitch + channel];
  const std::uint32_t above = row > 0 ? words[(row - 1) * pitch + channel] : 0U;
  const std::uint32_t exponent = word >> 7 & 255;
  const std::uint32_t sign = (word ^ (plan.change[channel] != 0 ? above : 0U)) >> 15 & 1;
  const std::uint32_t distances = class_models[plan.class_of[channel]].distances;
  const std::uint32_t distance = (plan.top[channel] - exponent) & 255;
  return {exponent, sign, word >> 6 & 1, std::min(distance, distances), distance >= distances};
}

/// Bits are pushed in front; the oldest 32 wait in `buffer`, the others are the low `count` bits.
struct LaneWriter {
  std::uint64_t bits{};
  std::uint32_t count{};
  std::uint32_t buffer{};

  void push(std::uint32_t value, std::uint32_t size) {
    bits |= static_cast<std::uint64_t>(value) << count;
    count += size;
  }
};

class StreamWriter {
 public:
  StreamWriter(std::uint32_t lanes, std::uint32_t* out) : lanes_(lanes), out_(out) {}

  LaneWriter& lane(std::uint32_t l) { return lane_[l]; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void emit() {
    for (std::uint32_t l = 0; l < lanes_; ++l) {
      LaneWriter& lane = lane_[l];
      if (lane.count < 32) continue;
      out_[size_++] = lane.buffer;
      lane.buffer = static_cast<std::uint32_t>(lane.bits);
      lane.bits >>= 32;
      lane.count -= 32;
    }
  }

 private:
  std::uint32_t lanes_;
  std::uint32_t* out_;
  std::size_t size_{};
  LaneWriter lane_[max_lanes]{};
};

std::size_t encode(const std::uint16_t* words, TileExtent extent, const TilePlan& plan,
                   StreamEnds& ends, std::uint32_t* stream) {
  const CodingTables& tables = coding_tables();
  const std::uint32_t lanes = lanes_of(extent);
  StreamWriter out(lanes, stream);
  std::uint32_t state[max_lanes];
  for (std::uint32_t l = 0; l < lanes; ++l) {
    state[l] = ends.first_state[l];
    out.lane(l).buffer = ends.first_buffer[l];
  }

  for (std::uint32_t g = chunks_of(extent); g-- > 0;) {
    const std::uint32_t first_row = g * chunk_rows;
    const std::uint32_t rows = rows_of_chunk(extent, g);
    for (std::uint32_t r = first_row + rows; r-- > first_row;) {
      bool any = false;
      for (std::uint32_t h = 2; h-- > 0;) {
        for (std::uint32_t l = 0; l < active_lanes(extent, r, h); ++l) {
          const Coded c = code(words, r, 2 * l + h, plan);
          if (!c.escapes) continue;
          any = true;
          const bool zero = (c.exponent | c.sign | c.top_bit) == 0;
          out.lane(l).push(zero ? 0 : 1U << 10 | c.exponent << 2 | c.sign << 1 | c.top_bit,
                           zero ? 1 : 11);
        }
      }
      if (any) out.emit();
    }
    for (std::uint32_t v = 2 * rows; v-- > 0;) {
      const std::uint32_t r = first_row + v / 2;
      const std::uint32_t h = v % 2;
      for (std::uint32_t l = 0; l < active_lanes(extent, r, h); ++l) {
        const std::uint32_t channel = 2 * l + h;
        const Coded c = code(words, r, channel, plan);
        const std::uint32_t entry =
            tables.symbols[plan.class_of[channel] * CodingTables::symbols_per_class +
                           4 * c.distance + 2 * c.sign + c.top_bit];
        const std::uint32_t nb = (entry + (state[l] << 16)) >> 27;
        out.lane(l).push(state[l] & ((1U << nb) - 1), nb);
        state[l] = tables.states[(entry & 0xffff) + (state[l] >> nb)];
      }
      if (v % 3 == 0) out.emit();
    }
  }

  for (std::uint32_t l = 0; l < lanes; ++l) out.lane(l).push(state[l] - state_count, state_bits);
  out.emit();
  for (std::uint32_t l = 0; l < lanes; ++l) {
    ends.head[l] = static_cast<std::uint32_t>(out.lane(l).bits);
    ends.head_bits[l] = out.lane(l).count;
    ends.buffer[l] = out.lane(l).buffer;
  }
  return out.size();
}

/// The first bit is the highest of `bits`.
struct LaneReader {
  std::uint64_t bits{};
  std::uint32_t count{};

  std::uint32_t take(std::uint32_t size) {
    const auto taken = size == 0 ? 0U : static_cast<std::uint32_t>(bits >> (64 - size));
    bits <<= size;
    count -= size;
    return taken;
  }
};

class StreamReader {
 public:
  StreamReader(const std::uint32_t* stream, std::size_t size, const StreamEnds& ends,
               std::uint32_t lanes)
      : lanes_(lanes), stream_(stream), left_(size) {
    for (std::uint32_t l = 0; l < lanes; ++l) {
      const std::uint32_t head_bits = ends.head_bits[l];
      const std::uint64_t all = static_cast<std::uint64_t>(ends.head[l]) << 32 | ends.buffer[l];
      lane_[l] = {all << (32 - head_bits), 32 + head_bits};
    }
  }

  LaneReader& lane(std::uint32_t l) { return lane_[l]; }
  [[nodiscard]] std::size_t left() const { return left_; }

  /// False where fewer words are left than lanes ask for.
  bool refill() {
    std::size_t wanted = 0;
    for (std::uint32_t l = 0; l < lanes_; ++l) wanted += lane_[l].count < 32;
    if (wanted > left_) return false;
    left_ -= wanted;
    const std::uint32_t* word = stream_ + left_;
    for (std::uint32_t l = 0; l < lanes_; ++l) {
      LaneReader& lane = lane_[l];
      if (lane.count >= 32) continue;
      lane.bits |= static_cast<std::uint64_t>(*word++) << (32 - lane.count);
      lane.count += 32;
    }
    return true;
  }

 private:
  std::uint32_t lanes_;
  const std::uint32_t* stream_;
  std::size_t left_;
  LaneReader lane_[max_lanes]{};
};

constexpr std::uint8_t escape_mark = CodingTables::escape_distance;

bool decode(const std::uint32_t* stream, std::size_t size, TileExtent extent, const TilePlan& plan,
            StreamEnds& ends, std::uint16_t* words) {
  const CodingTables& tables = coding_tables();
  const std::uint32_t lanes = lanes_of(extent);
  StreamReader in(stream, size, ends, lanes);
  std::uint32_t state[max_lanes];
  for (std::uint32_t l = 0; l < lanes; ++l) state[l] = state_count + in.lane(l).take(state_bits);
  if (!in.refill()) return false;

  for (std::uint32_t g = 0; g < chunks_of(extent); ++g) {
    const std::uint32_t first_row = g * chunk_rows;
    const std::uint32_t rows = rows_of_chunk(extent, g);
    std::uint8_t distance[chunk_rows][pitch]{};
    for (std::uint32_t v = 0; v < 2 * rows; ++v) {
      const std::uint32_t h = v % 2;
      std::uint16_t* row = words + (first_row + v / 2) * pitch;
      for (std::uint32_t c = h; c < pitch; c += 2) row[c] = 0;
      for (std::uint32_t l = 0; l < active_lanes(extent, first_row + v / 2, h); ++l) {
        const std::uint32_t channel = 2 * l + h;
        const std::uint32_t entry =
            tables.decode[CodingTables::front_pad + plan.class_of[channel] * state_count +
                          (state[l] - state_count)];
        const std::uint32_t x = entry >> 6;
        const std::uint32_t nb = state_bits + 1 - static_cast<std::uint32_t>(std::bit_width(x));
        state[l] = (x << nb) + in.lane(l).take(nb);
        const std::uint32_t d = entry & 15;
        distance[v / 2][channel] = static_cast<std::uint8_t>(d);
        row[channel] = static_cast<std::uint16_t>(
            (entry >> 4 & 1) << 15 | ((plan.top[channel] - d) & 255) << 7 | (entry >> 5 & 1) << 6);
      }
      if ((v % 3 == 2 || v + 1 == 2 * rows) && !in.refill()) return false;
    }
    for (std::uint32_t i = 0; i < rows; ++i) {
      std::uint16_t* row = words + (first_row + i) * pitch;
      bool any = false;
      for (std::uint32_t channel = 0; channel < extent.width; ++channel) {
        if (distance[i][channel] != escape_mark) continue;
        any = true;
        LaneReader& lane = in.lane(channel / 2);
        const std::uint32_t payload = lane.take(1) == 0 ? 0 : lane.take(10);
        row[channel] = static_cast<std::uint16_t>((payload >> 2) << 7 | (payload >> 1 & 1) << 15 |
                                                  (payload & 1) << 6);
      }
      if (any && !in.refill()) return false;
      if (first_row + i == 0) continue;
      for (std::uint32_t channel = 0; channel < extent.width; ++channel) {
        if (plan.change[channel] == 0) continue;
        // A value that does not exist must stay 0.
        if ((first_row + i) * extent.width + channel >= extent.values) break;
        row[channel] = static_cast<std::uint16_t>(
            row[channel] ^ (words[(first_row + i - 1) * pitch + channel] & 0x8000));
      }
    }
  }

  for (std::uint32_t l = 0; l < lanes; ++l) {
    if (in.lane(l).count != 32) return false;
    ends.first_state[l] = state[l];
    ends.first_buffer[l] = static_cast<std::uint32_t>(in.lane(l).bits >> 32);
  }
  return in.left() == 0;
}

}  // namespace

const Kernels& reference_kernels() noexcept {
  static constexpr Kernels table{"reference", pack, unpack, encode, decode, choose_plan};
  return table;
}

}  // namespace offramp::exact_dense
