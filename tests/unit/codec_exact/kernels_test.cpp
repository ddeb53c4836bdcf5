// SPDX-License-Identifier: Apache-2.0
// Every kernel of every instruction set this machine has, against the reference.
#include "codec/exact/exact_bases.hpp"
#include "exact_fixture.hpp"

#include <hwy/targets.h>

#include <functional>

namespace offramp::exact {
namespace {

using Plane = std::vector<std::uint8_t>;

Plane scratch_plane(std::size_t n, std::uint8_t fill = 0) { return Plane(n + slack, fill); }

// Runs `check` under every target; `fast_kernels` follows the choice.
void for_each_target(const std::function<void()>& check) {
  std::uint64_t targets = static_cast<std::uint64_t>(hwy::SupportedTargets());
  int tried = 0;
  for (; targets != 0; targets &= targets - 1) {
    const auto target = static_cast<std::int64_t>(targets & -targets);
    SCOPED_TRACE(hwy::TargetName(static_cast<std::uint32_t>(target)));
    hwy::SetSupportedTargetsForTest(static_cast<std::uint32_t>(target));
    check();
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GE(tried, 1);
}

// Planes whose distances from a base of 100 reach every tier.
Plane random_plane(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(100, 1.0f + static_cast<float>(seed % 5));
  Plane plane = scratch_plane(n);
  for (auto& e : plane) {
    e = static_cast<std::uint8_t>(random() % 16 == 0 ? static_cast<float>(random() % 256)
                                                     : normal(random));
  }
  return plane;
}

BaseCycle random_cycle(std::uint32_t width, unsigned seed) {
  std::mt19937 random(seed);
  BaseSet set{.kind = Bases::byte};
  for (auto& b : set.channel) b = static_cast<std::uint8_t>(96 + random() % 8);
  return make_cycle(set, width);
}

constexpr std::size_t sizes[] = {1,  7,  8,   15,  16,  31,   32,   63,
                                 64, 65, 100, 511, 512, 1000, 2047, 2048};

TEST(ExactKernels, BlocksAreEqualAndComeBack) {
  for_each_target([] {
    const Kernels &fast = fast_kernels(), &reference = reference_kernels();
    for (unsigned seed = 0; seed < 40; ++seed) {
      const std::uint32_t width = seed % 2 ? 64 : 1 + seed * 7 % 64;
      const BaseCycle cycle = random_cycle(width, seed);
      const std::uint32_t phase = seed * 5 % width;
      const Plane plane = random_plane(block_values, seed);
      Plane codes[2] = {Plane(block_code_size), Plane(block_code_size)};
      Plane next[2] = {scratch_plane(block_values), scratch_plane(block_values)};
      const auto n =
          reference.encode_block(plane.data(), cycle, phase, codes[0].data(), next[0].data());
      ASSERT_EQ(n, fast.encode_block(plane.data(), cycle, phase, codes[1].data(), next[1].data()));
      EXPECT_EQ(codes[0], codes[1]);
      EXPECT_TRUE(
          std::equal(next[0].begin(), next[0].begin() + static_cast<long>(n), next[1].begin()));
      EXPECT_EQ(n, fast.count_escapes(codes[0].data(), block_code_size));
      for (const Kernels* kernels : {&fast, &reference}) {
        Plane back = scratch_plane(block_values);
        EXPECT_EQ(
            n, kernels->decode_block(codes[0].data(), cycle, phase, next[0].data(), back.data()));
        EXPECT_TRUE(std::equal(back.begin(), back.end() - slack, plane.begin()));
      }
    }
  });
}

TEST(ExactKernels, TiersAreEqualAndComeBack) {
  // What a tier can be given: all that the tiers before it send on.
  const Plane inputs[5] = {{},
                           {0, 1, 2, 3, 4, 5, 8, 200, 255},
                           {0, 4, 5, 6, 7, 9, 254, 255},
                           {6, 7, 8, 9, 10, 11, 128, 255},
                           {9, 10, 11, 12, 127, 128, 254, 255}};
  for_each_target([&] {
    const Kernels &fast = fast_kernels(), &reference = reference_kernels();
    std::mt19937 random(1);
    for (int tier = 1; tier <= 4; ++tier) {
      for (const std::size_t n : sizes) {
        Plane v = scratch_plane(n, 77);
        for (std::size_t k = 0; k < n; ++k) v[k] = inputs[tier][random() % inputs[tier].size()];
        const std::size_t size = tier == 2 ? 2 * ceil_div(n, 8) : ceil_div(n, 4);
        Plane codes[2] = {scratch_plane(size), scratch_plane(size)};
        Plane next[2] = {scratch_plane(n), scratch_plane(n)};
        const auto left = reference.encode_tier(tier, v.data(), n, codes[0].data(), next[0].data());
        ASSERT_EQ(left, fast.encode_tier(tier, v.data(), n, codes[1].data(), next[1].data()));
        EXPECT_TRUE(std::equal(codes[0].begin(), codes[0].end() - slack, codes[1].begin()));
        EXPECT_TRUE(std::equal(next[0].begin(), next[0].begin() + static_cast<long>(left),
                               next[1].begin()));
        EXPECT_EQ(left, fast.count_escapes(codes[0].data(), size));
        for (const Kernels* kernels : {&fast, &reference}) {
          Plane back = scratch_plane(n);
          kernels->decode_tier(tier, codes[0].data(), n, next[0].data(), back.data());
          EXPECT_TRUE(std::equal(back.begin(), back.end() - slack, v.begin())) << tier << " " << n;
        }
      }
    }
  });
}

TEST(ExactKernels, PlanesOfEveryDTypeAreEqualAndComeBack) {
  for_each_target([] {
    const Kernels &fast = fast_kernels(), &reference = reference_kernels();
    std::mt19937_64 random(2);
    for (const DType dtype : all_dtypes()) {
      const std::size_t planes = plane_view(dtype).planes;
      for (const bool zigzag : {false, true}) {
        if (zigzag && plane_view(dtype).is_float) continue;
        for (const std::size_t n : sizes) {
          Bytes values(n * size_of(dtype) + tiles::read_slack);
          for (auto& b : values) b = static_cast<std::byte>(random() % 4 ? random() : 0);
          const auto lines = tiles::ConstLines::without_gaps(values.data(), size_of(dtype));
          std::vector<Plane> planes_of[2];
          SplitFacts facts[2];
          for (int i = 0; i < 2; ++i) {
            planes_of[i].assign(planes, scratch_plane(n));
            Planes pointers{};
            for (std::size_t p = 0; p < planes; ++p) pointers[p] = planes_of[i][p].data();
            facts[i] = (i ? fast : reference).split(dtype, zigzag, lines, n, pointers);
            for (auto& plane : planes_of[i]) plane.resize(n);
          }
          EXPECT_EQ(planes_of[0], planes_of[1]) << name_of(dtype) << " " << n;
          Planes pointers{};
          for (std::size_t p = 0; p < planes; ++p) {
            planes_of[0][p].resize(n + slack);
            pointers[p] = planes_of[0][p].data();
          }
          for (const Kernels* kernels : {&fast, &reference}) {
            Bytes back(n * size_of(dtype) + 1, guard);
            kernels->join(dtype, zigzag, pointers, n,
                          tiles::Lines::without_gaps(back.data(), size_of(dtype)));
            EXPECT_TRUE(std::equal(back.begin(), back.end() - 1, values.begin())) << name_of(dtype);
            EXPECT_EQ(back.back(), guard);
          }
          for (const std::size_t gap : {tiles::next_line_gap(), tiles::next_line_gap()}) {
            const std::size_t size = size_of(dtype), pitch = (tile_width + gap) * size;
            // No slack: kernels touch the values alone.
            tiles::StridedTile in(n, size, pitch, 0), out(n, size, pitch, 0);
            in.fill(values);
            std::vector<Plane> split(planes, scratch_plane(n));
            Planes to{};
            for (std::size_t p = 0; p < planes; ++p) to[p] = split[p].data();
            EXPECT_EQ(fast.split(dtype, zigzag, in.lines(), n, to), facts[0]);
            for (auto& plane : split) plane.resize(n);
            for (std::size_t p = 0; p < planes; ++p) planes_of[0][p].resize(n);
            EXPECT_EQ(split, planes_of[0]) << name_of(dtype) << " " << n << " gap " << gap;
            fast.join(dtype, zigzag, to, n, out.lines());
            EXPECT_TRUE(out.values() == in.values()) << name_of(dtype) << " " << n;
            EXPECT_TRUE(out.is_whole_between());
          }
          EXPECT_EQ(facts[0], facts[1]);
        }
      }
    }
  });
}

TEST(ExactKernels, StoredPlanesAreEqualAndComeBack) {
  for_each_target([] {
    const Kernels &fast = fast_kernels(), &reference = reference_kernels();
    for (const std::size_t n : sizes) {
      const Plane plane = random_plane(n, static_cast<unsigned>(n));
      Plane packed[2] = {Plane(n + 1, 9), Plane(n + 1, 9)};
      reference.store_bytes(plane.data(), n, packed[0].data());
      fast.store_bytes(plane.data(), n, packed[1].data());
      EXPECT_EQ(packed[0], packed[1]);
      Plane back = scratch_plane(n);
      fast.load_bytes(packed[0].data(), n, back.data());
      EXPECT_TRUE(std::equal(back.begin(), back.end() - slack, plane.begin()));

      const auto range = reference.range(plane.data(), n);
      EXPECT_EQ(range.any, fast.range(plane.data(), n).any);
      EXPECT_EQ(range.all, fast.range(plane.data(), n).all);

      for (const int kept : {0x01, 0x80, 0x0f, 0x5a, 0xfe}) {
        const auto mask = static_cast<std::uint8_t>(kept);
        const std::size_t size = static_cast<std::size_t>(std::popcount(mask)) * ceil_div(n, 8);
        Plane bits[2] = {Plane(size + 1, 9), Plane(size + 1, 9)};
        reference.store_bits(plane.data(), n, mask, bits[0].data());
        fast.store_bits(plane.data(), n, mask, bits[1].data());
        EXPECT_EQ(bits[0], bits[1]);
        const auto constant = static_cast<std::uint8_t>(0x33 & ~mask);
        for (const Kernels* kernels : {&fast, &reference}) {
          bits[0].resize(size);
          bits[0].shrink_to_fit();
          kernels->load_bits(bits[0].data(), n, mask, constant, back.data());
          for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(back[k], (plane[k] & mask) | constant);
        }
      }
    }
  });
}

TEST(ExactKernels, WindowsAreCountedAlike) {
  for_each_target([] {
    for (const Sample sample : {Sample{256, 64, 2}, Sample{64, 64, 1}, Sample{1, 64, 1},
                                Sample{255, 33, 2}, Sample{97, 1, 2}, Sample{3, 17, 1}}) {
      const Plane plane = random_plane(sample.rows * sample.width, 4);
      WindowCounts counts[2];
      reference_kernels().count_window(plane.data(), sample, counts[0]);
      fast_kernels().count_window(plane.data(), sample, counts[1]);
      EXPECT_EQ(counts[0].top, counts[1].top);
      EXPECT_EQ(counts[0].count, counts[1].count);
    }
  });
}

TEST(ExactKernels, ScoresOfWindowsAreEqual) {
  for_each_target([] {
    for (const Sample sample : {Sample{256, 64, 4}, Sample{64, 64, 1}, Sample{1, 64, 1},
                                Sample{255, 33, 4}, Sample{85, 1, 1}, Sample{3, 17, 1}}) {
      for (unsigned seed = 0; seed < 8; ++seed) {
        // All the values of a channel at one exponent, too: the most that a score can be.
        const Plane plane = seed == 0 ? Plane(sample.rows * sample.width + slack, 100)
                                      : random_plane(sample.rows * sample.width, seed);
        WindowCounts counts;
        reference_kernels().count_window(plane.data(), sample, counts);
        WindowScores scores[2];
        reference_kernels().score_window(counts, scores[0]);
        fast_kernels().score_window(counts, scores[1]);
        EXPECT_EQ(scores[0].score, scores[1].score);
        EXPECT_EQ(scores[0].best, scores[1].best);
        EXPECT_EQ(scores[0].place, scores[1].place);
      }
    }
  });
}

TEST(ExactKernels, TilesAreTheSameBytesUnderEveryTarget) {
  for_each_target([] {
    for (const DType dtype : all_dtypes()) {
      for (const auto extent :
           {extent_of(256, 64), extent_of(16, 64), ragged(3333, 29), ragged(130, 64)}) {
        check_round_trip(dtype, extent, values_for(dtype, extent, 6));
      }
    }
  });
}

}  // namespace
}  // namespace offramp::exact
