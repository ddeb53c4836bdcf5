// SPDX-License-Identifier: Apache-2.0
#include <offramp/probe/gpu_activity.hpp>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace offramp {
namespace {

// Keeps one multiprocessor for so many nanoseconds.
__global__ void spin(std::uint64_t ns) {
  const auto now = [] {
    std::uint64_t at;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(at));
    return at;
  };
  const std::uint64_t start = now();
  while (now() - start < ns) {
  }
}

class GpuActivityTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU here";
    if (const std::string why = GpuActivity::why_not(); !why.empty()) GTEST_SKIP() << why;
    for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    spin<<<1, 1, 0, streams[0]>>>(1000);  // loads the module
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  cudaStream_t streams[2]{};
};

TEST_F(GpuActivityTest, FindsTheShareOfTheTimeInWhichKernelsRun) {
  using namespace std::chrono_literals;
  auto activity = GpuActivity::start();
  for (int round = 0; round < 20; ++round) {
    spin<<<1, 1, 0, streams[0]>>>(10'000'000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::this_thread::sleep_for(10ms);
  }
  const auto report = activity.stop();
  EXPECT_EQ(report.kernels, 20u);
  EXPECT_EQ(report.lost_records, 0u);
  EXPECT_NEAR(static_cast<double>(report.busy_ns), 200e6, 10e6);
  EXPECT_NEAR(report.busy(), 0.5, 0.1);
  EXPECT_EQ(report.picture.size(), 20u);
  for (const TimeSpan& span : report.picture) {
    EXPECT_GE(span.start_ns, report.window.start_ns);
    EXPECT_LE(span.end_ns, report.window.end_ns);
  }
}

TEST_F(GpuActivityTest, CountsTwoStreamsAtOnceOnce) {
  auto activity = GpuActivity::start();
  for (cudaStream_t stream : streams) spin<<<1, 1, 0, stream>>>(50'000'000);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto report = activity.stop();
  EXPECT_EQ(report.kernels, 2u);
  EXPECT_LT(report.busy_ns, 80'000'000u);
  EXPECT_GT(report.busy_ns, 49'000'000u);
}

TEST_F(GpuActivityTest, LeavesOutWhatRanBeforeAndAfter) {
  spin<<<1, 1, 0, streams[0]>>>(20'000'000);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int again = 0; again < 2; ++again) {
    auto activity = GpuActivity::start();
    EXPECT_EQ(activity.stop().busy_ns, 0u);
    spin<<<1, 1, 0, streams[0]>>>(20'000'000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
}

}  // namespace
}  // namespace offramp
