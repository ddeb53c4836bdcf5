// SPDX-License-Identifier: Apache-2.0
// Damaged tiles: a block takes and refuses what the host does, and touches nothing outside.
#include "block_fixture.hpp"
#include "contract/tensor_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace offramp::exact::block {
namespace {

struct Case {
  TileSample sample;
  Coded coded;
};

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (const DType dtype : testing_samples::all_dtypes()) {
      for (const auto extent : {extent_of(40, 64), ragged(2500, 23), extent_of(9, 64)}) {
        for (unsigned kind = 0; kind < sample_kinds; ++kind) {
          TileSample sample = make_sample(dtype, extent, kind, kind);
          Coded coded = encode_on_host(sample);
          cases.push_back({std::move(sample), std::move(coded)});
        }
      }
    }
    return cases;
  }();
  return all;
}

// Decodes by both and compares; whether they took it.
bool both_take(CpuBlock& block, DType dtype, TileExtent extent, const Coded& coded) {
  ByteVector by_host, by_block;
  const bool ok = decode_on_host(dtype, extent, coded, by_host);
  EXPECT_EQ(decode_by_block(block, dtype, extent, coded, {3, 0}, by_block), ok)
      << name_of(dtype) << " mode " << int{coded.mode};
  if (ok) {
    EXPECT_TRUE(by_block == by_host) << name_of(dtype) << " mode " << int{coded.mode};
  }
  return ok;
}

TEST(ExactBlockHostile, FlippedBits) {
  CpuBlock block(32, CpuBlock::Order::shuffled);
  std::mt19937 random(3);
  std::size_t taken = 0, refused = 0;
  for (const Case& c : all_cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      Coded damaged = c.coded;
      ByteVector& bytes = damaged.*part;
      // The fields at the front byte by byte; of the rest some.
      const std::size_t step = bytes.size() / 24 + 1;
      for (std::size_t i = 0; i < bytes.size(); i += i < 48 ? 1 : 1 + random() % (2 * step)) {
        const auto bit = std::byte{1} << static_cast<int>(random() % 8);
        bytes[i] ^= bit;
        ++(both_take(block, c.sample.dtype, c.sample.extent, damaged) ? taken : refused);
        bytes[i] ^= bit;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(ExactBlockHostile, CutAndGrownSections) {
  CpuBlock block(7, CpuBlock::Order::falling);
  for (const Case& c : all_cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      const std::size_t size = (c.coded.*part).size();
      for (const std::size_t other :
           {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, size / 2, size - 16,
            size - 1, size + 1, size + 16}) {
        if (other == size || other > size + 16) continue;
        Coded cut = c.coded;
        (cut.*part).resize(other);
        EXPECT_FALSE(both_take(block, c.sample.dtype, c.sample.extent, cut))
            << c.sample.name() << " mode " << int{cut.mode} << " size " << other;
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ExactBlockHostile, OtherModesDTypesAndExtents) {
  CpuBlock block(32, CpuBlock::Order::rising);
  for (std::size_t i = 0; i < all_cases().size(); i += 3) {
    const Case& c = all_cases()[i];
    for (int mode = 0; mode < 256; mode += mode < 6 ? 1 : 83) {
      Coded other = c.coded;
      other.mode = static_cast<TileMode>(mode);
      for (const DType dtype : {DType::bf16, DType::fp8_e5m2, DType::i64}) {
        both_take(block, dtype, c.sample.extent, other);
      }
    }
    for (const TileExtent extent :
         {TileExtent{2, 65, 130}, TileExtent{257, 1, 257}, TileExtent{3, 8, 16},
          TileExtent{1, 64, 64}, TileExtent{256, 64, 16384}}) {
      both_take(block, c.sample.dtype, extent, c.coded);
    }
    if (HasFailure()) return;
  }
}

// Elias-Fano may not be larger than a bitmap, whatever room its section has.
TEST(ExactBlockHostile, PositionsLargerThanABitmap) {
  CpuBlock block(256);
  const TileExtent extent = extent_of(256, 64);
  for (const std::uint32_t count : {16000u, 2000u, 1200u}) {
    Positions positions{PositionCode::elias_fano, false, 13, 256, extent.values, count};
    Coded coded{sparse_mode, ByteVector(positions_size(positions, 256) + header_size_of(2)), {}};
    store(coded.body.data(), 2u | positions.low_bits << 8 | positions.kept_rows << 16);
    store(coded.body.data() + 4, count);
    // Rising positions: 0, 1, 2, ...
    std::byte* const low = coded.body.data() + positions_header_size;
    std::byte* const high = low + positions.low_size();
    const auto set = [](std::byte* bits, std::uint32_t at) {
      bits[at / 8] |= std::byte{1} << static_cast<int>(at % 8);
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t b = 0; b < 13; ++b) {
        if (i >> b & 1) set(low, 13 * i + b);
      }
      set(high, (i >> 13) + i);
    }
    const bool is_smaller = positions.code_size() < positions.bitmap_size();
    EXPECT_EQ(both_take(block, DType::bf16, extent, coded), is_smaller) << count;
  }
}

// Bytes of chance behind headers that are sound, so that what follows is looked at.
TEST(ExactBlockHostile, SeveralBytesOfChance) {
  CpuBlock block(32, CpuBlock::Order::shuffled);
  std::mt19937 random(7);
  for (const Case& c : all_cases()) {
    for (unsigned round = 0; round < 12; ++round) {
      Coded damaged = c.coded;
      for (unsigned i = 0; i <= round; ++i) {
        ByteVector& bytes = random() % 2 == 0 ? damaged.body : damaged.heap;
        if (bytes.empty()) continue;
        const std::size_t within =
            random() % 3 == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size();
        bytes[random() % within] = static_cast<std::byte>(random() % 3 == 0 ? 0 : random());
      }
      both_take(block, c.sample.dtype, c.sample.extent, damaged);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace offramp::exact::block
