// SPDX-License-Identifier: Apache-2.0
// What any tile code by a block of threads must do with damaged tiles: take and refuse what the
// host does, and touch nothing outside.
#pragma once

#include "contract/tensor_samples.hpp"
#include "unit/exact_block/block_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace offramp::exact::block {

struct Case {
  TileSample sample;
  Coded coded;
};

/// A code, and sound tiles of it to be damaged.
struct HostileCode {
  const TileCode* code;
  const std::vector<Case>& (*cases)();
};

/// Decodes by both and compares; whether they took it.
inline bool both_take(const TileCode& code, CpuBlock& block, DType dtype, TileExtent extent,
                      const Coded& coded) {
  ByteVector by_host, by_block;
  const bool ok = code.decode_on_host(dtype, extent, coded, by_host);
  EXPECT_EQ(code.decode_by_block(block, dtype, extent, coded, {3, 0}, by_block), ok)
      << name_of(dtype) << " mode " << int{coded.mode};
  if (ok) {
    EXPECT_TRUE(by_block == by_host) << name_of(dtype) << " mode " << int{coded.mode};
  }
  return ok;
}

class BlockHostile : public testing::TestWithParam<HostileCode> {
 protected:
  const TileCode& code() const { return *GetParam().code; }
  const std::vector<Case>& cases() const { return GetParam().cases(); }
};

TEST_P(BlockHostile, FlippedBits) {
  CpuBlock block(32, CpuBlock::Order::shuffled);
  std::mt19937 random(3);
  std::size_t taken = 0, refused = 0;
  for (const Case& c : cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      Coded damaged = c.coded;
      ByteVector& bytes = damaged.*part;
      // The fields at the front and the ends byte by byte; of the rest some.
      const std::size_t step = bytes.size() / 24 + 1;
      const auto is_dense = [&](std::size_t i) { return i < 48 || bytes.size() - i < 24; };
      for (std::size_t i = 0; i < bytes.size(); i += is_dense(i) ? 1 : 1 + random() % (2 * step)) {
        const auto bit = std::byte{1} << static_cast<int>(random() % 8);
        bytes[i] ^= bit;
        ++(both_take(code(), block, c.sample.dtype, c.sample.extent, damaged) ? taken : refused);
        bytes[i] ^= bit;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(taken, 200u);
  EXPECT_GT(refused, 1000u);
}

TEST_P(BlockHostile, CutAndGrownSections) {
  CpuBlock block(7, CpuBlock::Order::falling);
  for (const Case& c : cases()) {
    for (const auto part : {&Coded::body, &Coded::heap}) {
      const std::size_t size = (c.coded.*part).size();
      for (const std::size_t other :
           {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16}, size / 2, size - 16,
            size - 1, size + 1, size + 16}) {
        if (other == size || other > size + 16) continue;
        Coded cut = c.coded;
        (cut.*part).resize(other);
        EXPECT_FALSE(both_take(code(), block, c.sample.dtype, c.sample.extent, cut))
            << c.sample.name() << " mode " << int{cut.mode} << " size " << other;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(BlockHostile, OtherModesDTypesAndExtents) {
  CpuBlock block(32, CpuBlock::Order::rising);
  for (std::size_t i = 0; i < cases().size(); i += 3) {
    const Case& c = cases()[i];
    for (const int mode : {0, 1, 2, 3, 4, 5, 15, 16, 17, 18, 19, 31, 172, 255}) {
      Coded other = c.coded;
      other.mode = static_cast<TileMode>(mode);
      for (const DType dtype : {DType::bf16, DType::fp8_e5m2, DType::fp32, DType::i64}) {
        both_take(code(), block, dtype, c.sample.extent, other);
      }
    }
    for (const TileExtent extent :
         {TileExtent{2, 65, 130}, TileExtent{257, 1, 257}, TileExtent{3, 8, 16},
          TileExtent{3, 8, 24}, TileExtent{1, 64, 64}, TileExtent{256, 64, 16384}}) {
      both_take(code(), block, c.sample.dtype, extent, c.coded);
    }
    if (HasFailure()) return;
  }
}

// Bytes of chance behind headers that are sound, so that what follows is looked at.
TEST_P(BlockHostile, SeveralBytesOfChance) {
  CpuBlock block(32, CpuBlock::Order::shuffled);
  std::mt19937 random(7);
  for (const Case& c : cases()) {
    for (unsigned round = 0; round < 12; ++round) {
      Coded damaged = c.coded;
      for (unsigned i = 0; i <= round; ++i) {
        ByteVector& bytes = random() % 2 == 0 ? damaged.body : damaged.heap;
        if (bytes.empty()) continue;
        const std::size_t within =
            random() % 3 == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size();
        bytes[random() % within] = static_cast<std::byte>(random() % 3 == 0 ? 0 : random());
      }
      both_take(code(), block, c.sample.dtype, c.sample.extent, damaged);
      if (HasFailure()) return;
    }
  }
}

}  // namespace offramp::exact::block
