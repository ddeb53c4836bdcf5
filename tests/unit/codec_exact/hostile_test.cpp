// SPDX-License-Identifier: Apache-2.0
// Damaged tiles: never a read or write outside (the sanitizers' run sees those), and no bit that
// a decoder ignores.
#include "exact_fixture.hpp"

#include <gmock/gmock.h>

namespace offramp::exact {
namespace {

struct Case {
  DType dtype{};
  tiles::TileExtent extent{};
  Bytes values;
  Coded coded;
};

Bytes thinned(DType dtype, Bytes values, unsigned keep_one_in) {
  std::mt19937 random(1);
  const std::size_t size = size_of(dtype);
  for (std::size_t k = 0; k < values.size(); k += size) {
    if (random() % keep_one_in != 0)
      std::fill_n(values.begin() + static_cast<long>(k), size, std::byte{});
  }
  return values;
}

// Small tiles of all modes and forms.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](DType dtype, tiles::TileExtent extent, Bytes values) {
    Coded coded = encode(reference_kernels(), dtype, extent, values);
    all.push_back({dtype, extent, std::move(values), std::move(coded)});
  };
  for (const DType dtype : all_dtypes()) {
    for (const auto extent : {extent_of(40, 64), ragged(700, 23), extent_of(9, 64)}) {
      const Bytes plain = values_for(dtype, extent, 2);
      add(dtype, extent, plain);
      add(dtype, extent, thinned(dtype, plain, 2));
      add(dtype, extent, thinned(dtype, plain, 30));
      Bytes rows = plain;  // the second half are zero rows
      std::fill(rows.begin() + static_cast<long>(extent.rows / 2 * extent.width * size_of(dtype)),
                rows.end(), std::byte{});
      add(dtype, extent, rows);
    }
  }
  const auto wide = extent_of(40, 64);
  std::vector<std::uint16_t> spread(wide.values);
  auto floats = channel_values(wide, 3, 12.0f);
  for (std::size_t k = 0; k < spread.size(); ++k) spread[k] = bf16_bits(floats[k]);
  add(DType::bf16, wide, bytes_of_values(spread));
  floats = channel_values(wide, 3, 0.0f);
  for (std::size_t k = 0; k < spread.size(); ++k) spread[k] = bf16_bits(floats[k]);
  add(DType::bf16, wide, bytes_of_values(spread));
  return all;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = cases();
  return all;
}

TEST(ExactHostile, TheCasesHaveAllModes) {
  std::vector<int> modes;
  for (const Case& c : all_cases()) modes.push_back(c.coded.mode);
  for (int mode = 0; mode <= sparse_mode; ++mode) EXPECT_THAT(modes, testing::Contains(mode));
}

TEST(ExactHostile, NoPrefixOrLongerPieceIsTaken) {
  Bytes out;
  for (const Case& c : all_cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      for (std::size_t size = 0; size <= (c.coded.*part).size() + 16; ++size) {
        if (size == (c.coded.*part).size()) continue;
        if (size % 16 != 0 && size % 7 != 0) continue;
        Coded cut = c.coded;
        (cut.*part).resize(size);
        (cut.*part).shrink_to_fit();
        EXPECT_FALSE(decode(fast_kernels(), c.dtype, c.extent, cut, out))
            << name_of(c.dtype) << " mode " << int{cut.mode} << " size " << size;
      }
    }
  }
}

TEST(ExactHostile, EveryFlippedBitIsRefusedOrChangesAValue) {
  std::mt19937 random(3);
  Bytes out, reference_out;
  std::size_t refused = 0, changed = 0;
  for (const Case& c : all_cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      Coded damaged = c.coded;
      auto& bytes = damaged.*part;
      for (std::size_t i = 0; i < bytes.size(); i += i < 160 ? 1 : 1 + random() % 29) {
        const auto bit = std::byte{1} << static_cast<int>(random() % 8);
        bytes[i] ^= bit;
        const bool ok = decode(fast_kernels(), c.dtype, c.extent, damaged, out);
        ASSERT_EQ(ok, decode(reference_kernels(), c.dtype, c.extent, damaged, reference_out));
        ++(ok ? changed : refused);
        if (ok) {
          EXPECT_EQ(out, reference_out);
          EXPECT_NE(out, c.values) << name_of(c.dtype) << " mode " << int{c.coded.mode} << " byte "
                                   << i << (part == &Coded::body ? " of the body" : " of the heap");
        }
        bytes[i] ^= bit;
      }
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(changed, 1000u);
}

TEST(ExactHostile, AnotherModeOrDTypeNeverHurts) {
  Bytes out;
  for (const Case& c : all_cases()) {
    for (int mode = 0; mode < 256; mode += mode < 20 ? 1 : 59) {
      Coded other = c.coded;
      other.mode = static_cast<tiles::TileMode>(mode);
      for (const DType dtype : {DType::bf16, DType::fp16, DType::fp8_e5m2, DType::u8, DType::i64}) {
        const bool ok = decode(fast_kernels(), dtype, c.extent, other, out);
        EXPECT_FALSE(ok && mode > sparse_mode);
      }
    }
  }
}

TEST(ExactHostile, RandomBytesOfTheRightSizes) {
  std::mt19937 random(4);
  Bytes out;
  const auto& coder = tiles::exact_tile_coder();
  for (int i = 0; i < 3000; ++i) {
    const auto width = static_cast<std::uint32_t>(1 + random() % 64);
    const auto extent = ragged(static_cast<std::uint32_t>(1 + random() % (40 * width)), width);
    const DType dtype = all_dtypes()[random() % all_dtypes().size()];
    const auto mode = static_cast<tiles::TileMode>(1 + random() % 3);
    std::size_t size = coder.nominal_body_size(dtype, extent, mode);
    if (size == 0) size = 16 * (random() % 200);
    Coded noise{mode, Bytes(size), Bytes(16 * (random() % 50))};
    const auto density = 1 + random() % 40;
    for (auto* part : {&noise.body, &noise.heap}) {
      for (auto& b : *part) b = random() % density ? std::byte{} : static_cast<std::byte>(random());
    }
    if (mode >= planes_mode && size >= 16) {  // so that headers are often sound
      noise.body[0] = static_cast<std::byte>(random() % 8);
      noise.body[1] = mode == sparse_mode ? static_cast<std::byte>(random() % 14) : std::byte{};
    }
    if (noise.heap.size() >= 16) {  // so that the front of a heap often is
      noise.heap[0] = static_cast<std::byte>(random() % 2 * 100);
      noise.heap[1] = static_cast<std::byte>(random() % 5);
    }
    decode(fast_kernels(), dtype, extent, noise, out);
  }
}

// Elias-Fano for all positions from 0 on, in a section of the size that it says, and a form of
// nothing but zeros behind it. More than a bitmap takes would not fit the decoder's own room.
Coded rising_positions(std::uint32_t n, std::uint32_t count) {
  constexpr std::size_t low_bits = 13, header = 16;
  const std::size_t low_size = ceil_div(count * low_bits, 8);
  const std::size_t high_size = ceil_div(count + ((n - 1) >> low_bits) + 1, 8);
  Coded coded{sparse_mode, Bytes(header + padded(low_size + high_size) + form_header_size(2)), {}};
  store(coded.body.data(), static_cast<std::uint32_t>(2 | low_bits << 8 | n / 64 << 16));
  store(coded.body.data() + 4, count);
  const auto set = [&](std::size_t first_byte, std::size_t bit) {
    coded.body[first_byte + bit / 8] |= std::byte{1} << static_cast<int>(bit % 8);
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < low_bits; ++b) {
      if (i >> b & 1) set(header, low_bits * i + b);
    }
    set(header + low_size, (i >> low_bits) + i);
  }
  return coded;
}

TEST(ExactHostile, PositionsLargerThanABitmapAreRefused) {
  const auto extent = extent_of(256, 64);
  Bytes out;
  for (const Kernels* kernels : {&fast_kernels(), &reference_kernels()}) {
    for (const std::uint32_t count : {100u, 1160u}) {
      EXPECT_TRUE(decode(*kernels, DType::bf16, extent, rising_positions(16384, count), out));
    }
    for (const std::uint32_t count : {1180u, 1300u, 8000u, 16000u}) {
      EXPECT_FALSE(decode(*kernels, DType::bf16, extent, rising_positions(16384, count), out));
    }
  }
}

TEST(ExactHostile, ExtentsThatContradictThemselvesAreRefused) {
  const Case& c = all_cases().front();
  Bytes out(1 << 16);
  for (const tiles::TileExtent extent : {tiles::TileExtent{0, 64, 0},
                                         {257, 64, 257 * 64},
                                         {40, 65, 40 * 65},
                                         {40, 64, 39 * 64},
                                         {40, 64, 40 * 64 + 1},
                                         {40, 0, 0}}) {
    EXPECT_FALSE(decode_tile(fast_kernels(), c.dtype, extent, c.coded.mode, c.coded.body,
                             c.coded.heap, tiles::Lines::without_gaps(out.data(), size_of(c.dtype)),
                             scratch()));
  }
}

}  // namespace
}  // namespace offramp::exact
