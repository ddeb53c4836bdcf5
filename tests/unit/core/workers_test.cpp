// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/workers.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace offramp {
namespace {

class WorkersTest : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, WorkersTest, testing::Values(1, 2, 5));

TEST_P(WorkersTest, CallsEveryIndexOnceWithAWorkerOfItsOwn) {
  Workers workers(GetParam());
  ASSERT_EQ(workers.size(), GetParam());
  std::vector<std::atomic<int>> calls(1000);
  std::vector<std::atomic<int>> busy(workers.size());
  std::atomic<bool> shared{false};
  for (int round = 0; round < 50; ++round) {
    workers.for_each(calls.size(), [&](std::size_t index, std::size_t worker) {
      if (busy[worker].fetch_add(1) != 0) shared = true;
      ++calls[index];
      --busy[worker];
    });
  }
  EXPECT_FALSE(shared);
  for (const auto& count : calls) EXPECT_EQ(count, 50);
}

TEST_P(WorkersTest, ThrowsTheFirstExceptionOnAndWorksAgain) {
  Workers workers(GetParam());
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(workers.for_each(100,
                                  [](std::size_t index, std::size_t) {
                                    if (index == 37) throw std::runtime_error("37");
                                  }),
                 std::runtime_error);
  }
  std::atomic<int> calls{0};
  workers.for_each(10, [&](std::size_t, std::size_t) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST_P(WorkersTest, ServesSeveralCallersAtOnce) {
  Workers workers(GetParam());
  std::atomic<int> calls{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        workers.for_each(50, [&](std::size_t, std::size_t) { ++calls; });
      }
    });
  }
  callers.clear();
  EXPECT_EQ(calls, 4 * 20 * 50);
}

TEST(Workers, ZeroMeansTheProcessorsOfThisProcess) { EXPECT_GE(Workers().size(), 1u); }

}  // namespace
}  // namespace offramp
