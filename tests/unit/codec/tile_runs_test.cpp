// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/tile_runs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace offramp::tiles {
namespace {

// Memory for a queue, at a multiple of 64.
struct Scratch {
  explicit Scratch(std::size_t workers)
      : bytes(static_cast<std::byte*>(
            ::operator new (RunQueue::scratch_size(workers), std::align_val_t{64}))) {}
  ~Scratch() { ::operator delete (bytes, std::align_val_t{64}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* bytes;
};

TEST(TileRuns, CoverAllTilesInOrder) {
  for (const std::size_t workers : {1u, 2u, 3u, 16u}) {
    for (std::uint64_t tiles = 0; tiles < 700; tiles += tiles < 70 ? 1 : 37) {
      const TileRuns runs(tiles, workers);
      std::uint64_t next = 0;
      for (std::uint64_t run = 0; run < runs.count(); ++run) {
        ASSERT_EQ(runs.begin(run), next) << tiles << " tiles, " << workers << " workers";
        next = runs.begin(run + 1);
        ASSERT_LE(runs.begin(run), next);
        ASSERT_LE(next - runs.begin(run), 32u);
      }
      ASSERT_EQ(next, tiles) << workers;
    }
  }
}

TEST(TileRuns, TheLastOfAShareAreShort) {
  const TileRuns runs(256, 2);
  EXPECT_EQ(runs.begin(1), 32u);
  EXPECT_EQ(runs.begin(runs.share_runs()), 128u);
  EXPECT_EQ(runs.begin(runs.share_runs() - 1), 120u);
}

TEST(RunQueue, HandsOutEachRunOnce) {
  for (const std::size_t size : {1u, 2u, 5u}) {
    Workers workers(size);
    Scratch scratch(size);
    for (std::uint64_t tiles = 0; tiles < 300; tiles += 7) {
      const TileRuns runs(tiles, size);
      std::vector<std::atomic<int>> calls(runs.count());
      RunQueue(runs, scratch.bytes).for_each(workers, [&](std::uint64_t run, std::size_t worker) {
        EXPECT_LT(worker, size);
        ++calls[run];
      });
      for (std::uint64_t run = 0; run < runs.count(); ++run) {
        ASSERT_EQ(calls[run], 1) << tiles << " tiles, run " << run << ", " << size << " workers";
      }
    }
  }
}

// The first run of the other's share takes until all others are done: the helper takes them from
// the back.
TEST(RunQueue, WorkersHelpEachOtherFromTheBack) {
  Workers workers(2);
  Scratch scratch(2);
  const TileRuns runs(64, 2);
  const std::uint64_t count = runs.count();
  std::atomic<std::uint64_t> done{0};
  std::vector<std::uint64_t> of_other;
  RunQueue(runs, scratch.bytes).for_each(workers, [&](std::uint64_t run, std::size_t worker) {
    if (run == 0) {
      while (done != count - 1) std::this_thread::yield();
      return;
    }
    if (worker != 0 && run < runs.share_runs()) of_other.push_back(run);
    ++done;
  });
  ASSERT_EQ(of_other.size(), runs.share_runs() - 1);
  EXPECT_TRUE(std::is_sorted(of_other.rbegin(), of_other.rend()));
}

}  // namespace
}  // namespace offramp::tiles
