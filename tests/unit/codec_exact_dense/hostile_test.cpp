// SPDX-License-Identifier: Apache-2.0
// Damaged tiles: no read or write outside (sanitizers see those), and hardly a bit that means
// nothing.
#include "dense_fixture.hpp"

namespace offramp::exact_dense {
namespace {

struct Case {
  DType dtype;
  TileExtent extent;
  Bytes values;
  Coded coded;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : float_dtypes) {
    for (const TileExtent extent : {extent_of(64, 64), extent_of(70, 23, 4), extent_of(256, 64)}) {
      for (const unsigned zeros : {0U, 4U, 60U}) {
        Bytes values = normal_channels(dtype, extent, 3, zeros == 4 && size_of(dtype) > 1 ? 20 : 2);
        Engine random(zeros);
        const std::size_t size = size_of(dtype);
        for (std::uint32_t i = 0; i < extent.values; ++i) {
          if (random() % 100 < zeros) std::fill_n(values.begin() + i * size, size, std::byte{0});
        }
        Coded coded = encode(reference_kernels(), dtype, extent, values);
        if (coded.mode < plain_mode) continue;
        all.push_back({dtype, extent, std::move(values), std::move(coded)});
      }
    }
  }
  return all;
}

TEST(DenseHostile, ThereAreTilesOfEveryMode) {
  int seen[32]{};
  for (const Case& c : cases()) ++seen[c.coded.mode];
  EXPECT_GT(seen[plain_mode], 5);
  EXPECT_GT(seen[sparse_mode], 3);
}

TEST(DenseHostile, EveryTruncationAndExtensionIsRefused) {
  for (const Case& c : cases()) {
    for (Bytes Coded::*part : {&Coded::body, &Coded::heap}) {
      const std::size_t whole = (c.coded.*part).size();
      const std::size_t step = std::max<std::size_t>(1, whole / 40);
      for (std::size_t size = 0; size < whole; size += size < 64 ? 1 : step) {
        Coded cut = c.coded;
        (cut.*part).resize(size);
        EXPECT_FALSE(decode(kernels(), c.dtype, c.extent, cut)) << size << " of " << whole;
      }
      Coded longer = c.coded;
      (longer.*part).resize(whole + 16);
      EXPECT_FALSE(decode(kernels(), c.dtype, c.extent, longer));
    }
  }
}

// A flipped bit of the heap is refused or changes values (which is for the archive's checksums to
// see): never may the decoder give the same values for other bytes.
TEST(DenseHostile, FlippedBitsOfTheHeapAreSeen) {
  Engine random(21);
  std::size_t refused = 0;
  std::size_t flips = 0;
  for (const Case& c : cases()) {
    for (int i = 0; i < 150; ++i, ++flips) {
      Coded bad = c.coded;
      const std::size_t at = i < 64 ? static_cast<std::size_t>(i) : random() % bad.heap.size();
      bad.heap[at] ^= static_cast<std::byte>(1U << random() % 8);
      const auto back = decode(kernels(), c.dtype, c.extent, bad);
      refused += !back;
      if (back) {
        EXPECT_TRUE(*back != c.values)
            << name_of(c.dtype) << " mode " << int{c.coded.mode} << " rows " << c.extent.rows
            << " form " << std::to_integer<int>(c.coded.heap[2]) << " byte " << at << " of "
            << bad.heap.size();
      }
    }
  }
  EXPECT_GT(refused, flips * 7 / 10) << "of " << flips;
}

TEST(DenseHostile, RandomDamageIsHarmlessUnderEveryTarget) {
  const std::vector<Case> all = cases();
  for_each_target([&](const Kernels& kernels) {
    Engine random(22);
    for (int i = 0; i < 300; ++i) {
      const Case& c = all[random() % all.size()];
      Coded bad = c.coded;
      Bytes& part = random() % 4 == 0 ? bad.body : bad.heap;
      if (part.empty()) continue;
      for (unsigned n = 1 + random() % 20; n > 0; --n) {
        const std::size_t from = random() % 3 == 0
                                     ? random() % std::min<std::size_t>(part.size(), 100)
                                     : random() % part.size();
        part[from] = static_cast<std::byte>(random());
      }
      if (random() % 8 == 0) bad.mode = static_cast<tiles::TileMode>(16 + random() % 4);
      // What it gives is not known; that it stays inside is what decode() and the sanitizers watch.
      const auto fast = decode(kernels, c.dtype, c.extent, bad);
      const auto slow = decode(reference_kernels(), c.dtype, c.extent, bad);
      EXPECT_EQ(fast.has_value(), slow.has_value());
      if (fast && slow) {
        EXPECT_TRUE(*fast == *slow);
      }
    }
  });
}

TEST(DenseHostile, NoiseIsRefused) {
  for (const DType dtype : all_dtypes()) {
    for (const tiles::TileMode mode :
         std::initializer_list<tiles::TileMode>{16, 17, 18, 19, 31, 255}) {
      Coded noise{mode, random_bytes(4096, mode), random_bytes(2048, mode + 1U)};
      EXPECT_FALSE(decode(kernels(), dtype, full, noise));
      noise.body.clear();
      noise.heap.clear();
      EXPECT_FALSE(decode(kernels(), dtype, full, noise));
    }
  }
}

}  // namespace
}  // namespace offramp::exact_dense
