// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/coding_tables.hpp"

#include <bit>

namespace offramp::exact_dense {
namespace {

constexpr std::uint32_t spread_step = 643;

unsigned floor_log2(std::uint32_t x) { return static_cast<unsigned>(std::bit_width(x)) - 1; }

std::uint32_t decoded_fields(std::uint32_t symbol, std::uint32_t escape) {
  if (symbol == escape) return CodingTables::escape_distance;
  return (symbol & 1) << 5 | (symbol & 2) << 3 | symbol >> 2;
}

/// nb is m or m - 1, as the state is below `limit` or not; see CodingTables::symbols.
std::uint32_t symbol_entry(std::uint32_t frequency, std::uint32_t offset) {
  const std::uint32_t m = frequency == 1 ? state_bits : state_bits - floor_log2(frequency - 1);
  const std::uint32_t limit = frequency << m;
  return (m * 2048 - limit) << 16 | offset;
}

void build_class(const ClassModel& model, std::size_t index, CodingTables& tables) {
  const std::uint32_t escape = 4U * model.distances;
  std::uint8_t symbol_at[state_count];
  std::uint32_t slot = 0;
  for (std::uint32_t symbol = 0; symbol <= escape; ++symbol) {
    for (std::uint32_t i = 0; i < model.frequencies[symbol]; ++i) {
      symbol_at[slot] = static_cast<std::uint8_t>(symbol);
      slot = (slot + spread_step) % state_count;
    }
  }

  std::uint32_t next[CodingTables::symbols_per_class];
  std::uint32_t offset[CodingTables::symbols_per_class];
  std::uint32_t before = state_count + static_cast<std::uint32_t>(index) * state_count;
  std::uint32_t* symbols = tables.symbols + index * CodingTables::symbols_per_class;
  for (std::uint32_t symbol = 0; symbol <= escape; ++symbol) {
    const std::uint32_t frequency = model.frequencies[symbol];
    next[symbol] = frequency;
    offset[symbol] = before - frequency;
    before += frequency;
    symbols[symbol] = symbol_entry(frequency, offset[symbol]);
  }
  for (std::uint32_t i = escape; i < CodingTables::symbols_per_class; ++i) {
    symbols[i] = symbols[escape];
  }
  for (std::uint32_t i = 0; i < CodingTables::symbols_per_class; ++i) {
    const std::size_t at = index * CodingTables::symbols_per_class + i;
    tables.symbol_sizes[at] = static_cast<std::uint16_t>(symbols[i] >> 16);
    tables.symbol_offsets[at] = static_cast<std::uint16_t>(symbols[i] & 0xffff);
  }

  for (std::uint32_t i = 0; i < state_count; ++i) {
    const std::uint32_t symbol = symbol_at[i];
    const std::uint32_t x = next[symbol]++;
    tables.decode[CodingTables::front_pad + index * state_count + i] =
        static_cast<std::uint16_t>(x << 6 | decoded_fields(symbol, escape));
    tables.states[offset[symbol] + x] = static_cast<std::uint16_t>(state_count + i);
  }
}

CodingTables build() {
  CodingTables tables{};
  for (std::size_t i = 0; i < class_count; ++i) build_class(class_models[i], i, tables);
  return tables;
}

}  // namespace

const CodingTables& coding_tables() noexcept {
  static const CodingTables tables = build();
  return tables;
}

}  // namespace offramp::exact_dense
