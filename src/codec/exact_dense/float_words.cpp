// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/float_words.hpp"

#include "codec/tiles/rows.hpp"
#include "core/bytes.hpp"

#include <cstring>

namespace offramp::exact_dense {
namespace {

/// The bits of one dtype: sign, exponent and mantissa, and its word (spec.md, A value as a word).
template <class Bits, unsigned exponent_bits, unsigned mantissa>
struct Float {
  using bits_type = Bits;
  static constexpr unsigned mantissa_bits = mantissa;
  /// Mantissa bits beyond the word's seven.
  static constexpr unsigned tail_bits = mantissa > 7 ? mantissa - 7 : 0;
  static constexpr unsigned sign_shift = 8 * sizeof(Bits) - 1;
  static constexpr std::uint64_t mantissa_mask = (std::uint64_t{1} << mantissa) - 1;
  static constexpr std::uint32_t exponent_mask = (1U << exponent_bits) - 1;

  static constexpr std::uint32_t field(Bits value) {
    return static_cast<std::uint32_t>(value >> mantissa) & exponent_mask;
  }

  static constexpr std::uint16_t word(Bits value) {
    std::uint32_t e = field(value);
    if constexpr (exponent_bits > 8)
      e = e == 0 ? 0 : e == exponent_mask ? 255 : e - fp64_exponent_base;
    const std::uint64_t m = value & mantissa_mask;
    std::uint32_t f;
    if constexpr (mantissa >= 7) {
      f = static_cast<std::uint32_t>(m >> tail_bits);
    } else {
      f = static_cast<std::uint32_t>(m << (7 - mantissa));
    }
    return static_cast<std::uint16_t>(static_cast<std::uint32_t>(value >> sign_shift) << 15 |
                                      e << 7 | f);
  }

  static constexpr Bits value(std::uint32_t word, std::uint64_t tail) {
    std::uint64_t e = word >> 7 & 255;
    if constexpr (exponent_bits > 8)
      e = e == 0 ? 0 : e == 255 ? exponent_mask : e + fp64_exponent_base;
    const std::uint64_t f = word & 127;
    std::uint64_t m;
    if constexpr (mantissa >= 7) {
      m = f << tail_bits | tail;
    } else {
      m = f >> (7 - mantissa);
    }
    return static_cast<Bits>(std::uint64_t{word} >> 15 << sign_shift |
                             (e & exponent_mask) << mantissa | m);
  }
};

template <class F>
void visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bf16:
      return f(Float<std::uint16_t, 8, 7>{});
    case DType::fp16:
      return f(Float<std::uint16_t, 5, 10>{});
    case DType::fp32:
      return f(Float<std::uint32_t, 8, 23>{});
    case DType::fp64:
      return f(Float<std::uint64_t, 11, 52>{});
    case DType::fp8_e4m3:
      return f(Float<std::uint8_t, 4, 3>{});
    case DType::fp8_e5m2:
      return f(Float<std::uint8_t, 5, 2>{});
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::boolean:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return;
  }
}

/// The stored tail: what K leaves of the bits behind the word, and how it is cut.
struct Tail {
  unsigned dropped;    ///< low bits that are 0 in the whole tile
  unsigned byte_bits;  ///< in byte planes; the subtail lies above
  std::uint64_t mask;

  template <class Format>
  static constexpr Tail of(unsigned rest_bits) {
    const RestShape shape = rest_shape(rest_bits);
    const unsigned kept = rest_bits > core_bits ? rest_bits - core_bits : 0;
    return {Format::tail_bits - kept, 8 * shape.tail_bytes,
            (std::uint64_t{1} << Format::tail_bits) - 1};
  }
};

template <class Format>
void split(const std::byte* values, TileExtent extent, unsigned rest_bits, std::uint16_t* words,
           std::uint16_t* subtails) {
  using Bits = typename Format::bits_type;
  const Tail tail = Tail::of<Format>(rest_bits);
  const bool has_subtail = rest_shape(rest_bits).subtail > 0;
  std::uint32_t left = extent.values;
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    const std::uint32_t count = left < extent.width ? left : extent.width;
    std::uint16_t* row = words + r * pitch;
    for (std::uint32_t c = 0; c < count; ++c) {
      row[c] = Format::word(load<Bits>(values + c * sizeof(Bits)));
    }
    std::memset(row + count, 0, (pitch - count) * sizeof *row);
    if (has_subtail) {
      std::uint16_t* sub = subtails + r * pitch;
      for (std::uint32_t c = 0; c < count; ++c) {
        const std::uint64_t bits = load<Bits>(values + c * sizeof(Bits)) & tail.mask;
        sub[c] = static_cast<std::uint16_t>(bits >> tail.dropped >> tail.byte_bits);
      }
      std::memset(sub + count, 0, (pitch - count) * sizeof *sub);
    }
    values += count * sizeof(Bits);
    left -= count;
  }
}

template <class Format>
bool join(const std::uint16_t* words, const std::uint16_t* subtails, const std::byte* planes,
          TileExtent extent, unsigned rest_bits, tiles::Lines values) {
  using Bits = typename Format::bits_type;
  const Tail tail = Tail::of<Format>(rest_bits);
  const RestShape shape = rest_shape(rest_bits);
  std::uint32_t exponents = 0;
  std::uint32_t i = 0;
  for (std::uint32_t r = 0; r < extent.rows; ++r) {
    std::byte* to = values.at(i, sizeof(Bits));
    for (std::uint32_t c = 0; c < extent.width && i < extent.values; ++c, ++i) {
      std::uint64_t bits = shape.subtail > 0 ? subtails[r * pitch + c] : 0U;
      for (unsigned j = shape.tail_bytes; j-- > 0;) {
        bits =
            bits << 8 | std::to_integer<std::uint64_t>(planes[std::size_t{j} * extent.values + i]);
      }
      const std::uint32_t word = words[r * pitch + c];
      exponents |= word >> 7 & 255;
      store(to + c * sizeof(Bits), Format::value(word, bits << tail.dropped));
    }
  }
  return (exponents & ~Format::exponent_mask) == 0;
}

}  // namespace

void split_values(DType dtype, const std::byte* values, TileExtent extent, unsigned rest_bits,
                  std::uint16_t* words, std::uint16_t* subtails) {
  visit_float(dtype, [&]<class Format>(Format) {
    split<Format>(values, extent, rest_bits, words, subtails);
  });
}

void write_tail_bytes(DType dtype, const std::byte* values, TileExtent extent, unsigned rest_bits,
                      std::byte* planes) {
  visit_float(dtype, [&]<class Format>(Format) {
    using Bits = typename Format::bits_type;
    const Tail tail = Tail::of<Format>(rest_bits);
    for (unsigned j = 0; j < rest_shape(rest_bits).tail_bytes; ++j) {
      const unsigned shift = tail.dropped + 8 * j;
      std::byte* plane = planes + std::size_t{j} * extent.values;
      for (std::uint32_t i = 0; i < extent.values; ++i) {
        plane[i] = static_cast<std::byte>(load<Bits>(values + i * sizeof(Bits)) >> shift & 255);
      }
    }
  });
}

bool join_values(DType dtype, const std::uint16_t* words, const std::uint16_t* subtails,
                 const std::byte* planes, TileExtent extent, unsigned rest_bits,
                 tiles::Lines values) {
  if (is_words(dtype, extent)) {
    constexpr std::size_t row = pitch * sizeof(std::uint16_t);
    tiles::copy_rows(
        {.rows = extent.rows, .size = row, .from_pitch = row, .to_pitch = values.pitch},
        reinterpret_cast<const std::byte*>(words), values.first);
    return true;
  }
  bool good = false;
  visit_float(dtype, [&]<class Format>(Format) {
    good = join<Format>(words, subtails, planes, extent, rest_bits, values);
  });
  return good;
}

}  // namespace offramp::exact_dense
