// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/workers.hpp>

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace offramp {
namespace {

class WorkersTest : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, WorkersTest, testing::Values(1, 2, 5, 33));

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

TEST_P(WorkersTest, ServesMoreCallersThanItHasPlacesFor) {
  Workers workers(GetParam());
  std::atomic<int> complete{0};
  std::latch all_here(40);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 40; ++caller) {
    callers.emplace_back([&] {
      std::atomic<int> calls{0};
      all_here.arrive_and_wait();
      workers.for_each(30, [&](std::size_t, std::size_t) {
        std::this_thread::yield();
        ++calls;
      });
      if (calls == 30) ++complete;
    });
  }
  callers.clear();
  EXPECT_EQ(complete, 40);
}

// Every body waits for all others of its loop, so a helper that is not woken stops the test.
TEST(Workers, AllHelpersComeHoweverLongTheyHadNothingToDo) {
  constexpr std::size_t threads = 4;
  Workers workers(threads);
  for (int round = 0; round < 400; ++round) {
    const std::chrono::microseconds idle(round % 200);  // around the time they look before sleep
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < idle) std::this_thread::yield();

    std::atomic<std::size_t> here{0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    workers.for_each(threads, [&](std::size_t, std::size_t) {
      ++here;
      while (here < threads && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    ASSERT_EQ(here, threads);
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "a helper slept on, round " << round;
  }
}

// The caller has long ended its part, and sleeps, when the helper leaves.
TEST(Workers, WaitsForAHelperThatTakesLong) {
  Workers workers(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> helper_is_in{false};
    std::atomic<int> done{0};
    workers.for_each(2, [&](std::size_t, std::size_t worker) {
      if (worker == 0) {
        while (!helper_is_in) std::this_thread::yield();
      } else {
        helper_is_in = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
      ++done;
    });
    ASSERT_EQ(done, 2);
  }
}

TEST(Workers, HelpersTakeNoProcessorTimeWhenNothingIsToBeDone) {
  Workers workers(5);
  const auto processor_ms = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
  };
  workers.for_each(100, [](std::size_t, std::size_t) {});
  const double before = processor_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(processor_ms() - before, 20);
}

TEST(Workers, EndsAtOnceWhetherHelpersLookOrSleep) {
  for (int round = 0; round < 50; ++round) {
    Workers workers(3);
    workers.for_each(10, [](std::size_t, std::size_t) {});
    if (round % 2 == 1) std::this_thread::sleep_for(std::chrono::microseconds(150));
  }
}

TEST(Workers, ZeroMeansTheProcessorsOfThisProcess) { EXPECT_GE(Workers().size(), 1u); }

}  // namespace
}  // namespace offramp
