// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/class_models.hpp"

#include <cstddef>
#include <cstdint>

// The tANS tables (spec.md, tANS) in the shape that GPUs look up, made while compiling, so that
// nothing has to be set up on a device.

namespace offramp::exact_dense::block {

/// An entry of a decoder's table. Its lower half holds a symbol where a bf16 value has it,
/// `sign << 15 | (14 - distance) << 7 | top bit << 6`, or a bit for the escape, and the number of
/// bits that follow. An exponent is `top - 14` plus its four bits.
inline constexpr std::uint32_t symbol_mask = 0x87c0;
inline constexpr std::uint32_t escape_flag = 0x20;
inline constexpr std::uint32_t count_mask = 15;

struct DecodeTable {
  /// [class][slot]: (x << nb) << 18 | symbol | nb. The next state is x << nb plus nb bits; it
  /// stands four times as large, as an offset in this table, and without state_count's bit.
  alignas(16) std::uint32_t of[class_count][state_count];
};

struct EncodeTables {
  static constexpr std::size_t symbols_per_class = 64;

  /// [class][4 * min(distance, 15) + 2 * sign + top bit]: an entry n tells how many bits of the
  /// state to send, nb = (n + (state << 16)) >> 27; states[(n & 0xffff) + (state >> nb)] is next.
  alignas(16) std::uint32_t symbols[class_count][symbols_per_class];
  /// Next states, without state_count's bit. Padded in front, so that no offset is negative.
  alignas(16) std::uint16_t states[(1 + class_count) * state_count];
};

/// What the encoder reckons with, in 1/12 bit.
struct CostTable {
  alignas(16) std::uint8_t of[class_count][32];  ///< [16 * sign + distance]
  std::uint8_t of_zero[class_count];
  std::uint8_t distances[class_count];
};

namespace tables {

inline constexpr std::uint32_t spread_step = 643;

constexpr std::uint32_t floor_log2(std::uint32_t x) {
  std::uint32_t log = 0;
  while (x > 1) {
    x >>= 1;
    ++log;
  }
  return log;
}

constexpr std::uint32_t symbol_count(const ClassModel& model) { return 4u * model.distances + 1; }

/// The slots of a class's symbols, in order of symbols and, for one symbol, in rising order:
/// `f(symbol, x, slot)`.
template <class F>
constexpr void for_each_slot(const ClassModel& model, F&& f) {
  std::uint8_t symbol_at[state_count]{};
  std::uint32_t next[EncodeTables::symbols_per_class]{};
  std::uint32_t slot = 0;
  for (std::uint32_t symbol = 0; symbol < symbol_count(model); ++symbol) {
    next[symbol] = model.frequencies[symbol];
    for (std::uint32_t i = 0; i < model.frequencies[symbol]; ++i) {
      symbol_at[slot] = static_cast<std::uint8_t>(symbol);
      slot = (slot + spread_step) % state_count;
    }
  }
  for (slot = 0; slot < state_count; ++slot) f(symbol_at[slot], next[symbol_at[slot]]++, slot);
}

constexpr DecodeTable make_decode_table() {
  DecodeTable table{};
  for (std::size_t k = 0; k < class_count; ++k) {
    const std::uint32_t escape = symbol_count(class_models[k]) - 1;
    for_each_slot(class_models[k], [&](std::uint32_t symbol, std::uint32_t x, std::uint32_t slot) {
      const std::uint32_t nb = state_bits - floor_log2(x);
      const std::uint32_t bits =
          symbol == escape ? escape_flag
                           : (symbol & 2) << 14 | (14 - symbol / 4) << 7 | (symbol & 1) << 6;
      table.of[k][slot] = ((x << nb) - state_count) << 18 | bits | nb;
    });
  }
  return table;
}

constexpr EncodeTables make_encode_tables() {
  EncodeTables table{};
  for (std::size_t k = 0; k < class_count; ++k) {
    const ClassModel& model = class_models[k];
    std::uint32_t offset[EncodeTables::symbols_per_class]{};
    std::uint32_t before = static_cast<std::uint32_t>(1 + k) * state_count;
    for (std::uint32_t symbol = 0; symbol < EncodeTables::symbols_per_class; ++symbol) {
      if (symbol >= symbol_count(model)) {  // the escape, whatever its sign and top bit
        table.symbols[k][symbol] = table.symbols[k][symbol - 1];
        continue;
      }
      const std::uint32_t frequency = model.frequencies[symbol];
      offset[symbol] = before - frequency;
      before += frequency;
      // m or m - 1 bits, as the state is below frequency << m or not
      const std::uint32_t m = frequency == 1 ? state_bits : state_bits - floor_log2(frequency - 1);
      table.symbols[k][symbol] = (m * 2048 - (frequency << m)) << 16 | offset[symbol];
    }
    for_each_slot(model, [&](std::uint32_t symbol, std::uint32_t x, std::uint32_t slot) {
      table.states[offset[symbol] + x] = static_cast<std::uint16_t>(slot);
    });
  }
  return table;
}

constexpr CostTable make_cost_table() {
  CostTable table{};
  for (std::size_t k = 0; k < class_count; ++k) {
    for (std::size_t i = 0; i < 32; ++i) table.of[k][i] = class_models[k].costs[i];
    table.of_zero[k] = class_models[k].costs[32];
    table.distances[k] = class_models[k].distances;
  }
  return table;
}

}  // namespace tables

/// What a block needs of them, wherever it finds them.
struct Tables {
  const DecodeTable* decode{};
  const EncodeTables* encode{};
  const CostTable* costs{};
};

}  // namespace offramp::exact_dense::block
