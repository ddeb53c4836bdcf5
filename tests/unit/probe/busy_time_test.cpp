// SPDX-License-Identifier: Apache-2.0
#include "probe/busy_time.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace offramp {
namespace {

using testing::ElementsAre;
constexpr TimeSpan all{.start_ns = 0, .end_ns = UINT64_MAX};

std::uint64_t length_of(const std::vector<TimeSpan>& spans, TimeSpan window,
                        std::size_t kept = 1000) {
  BusyTime busy(kept);
  busy.begin_at(window.start_ns);
  for (const TimeSpan& span : spans) busy.add(span);
  return busy.finish(window).length_ns;
}

TEST(BusyTime, CountsWhatOverlapsOnce) {
  EXPECT_EQ(length_of({}, all), 0u);
  EXPECT_EQ(length_of({{10, 20}}, all), 10u);
  EXPECT_EQ(length_of({{10, 20}, {30, 40}}, all), 20u);
  EXPECT_EQ(length_of({{10, 20}, {15, 25}, {25, 30}}, all), 20u);
  EXPECT_EQ(length_of({{10, 100}, {20, 30}, {40, 50}}, all), 90u) << "one within another";
  EXPECT_EQ(length_of({{30, 40}, {10, 20}, {15, 35}}, all), 30u) << "in any order";
  EXPECT_EQ(length_of({{20, 10}, {5, 5}}, all), 0u) << "no time, or less";
}

TEST(BusyTime, ClipsToTheWindow) {
  const TimeSpan window{.start_ns = 100, .end_ns = 200};
  EXPECT_EQ(length_of({{0, 50}, {90, 110}, {150, 160}, {190, 300}, {250, 260}}, window), 30u);
  EXPECT_EQ(length_of({{0, 1000}}, window), 100u);
}

TEST(BusyTime, IsTheSameWithLittleMemory) {
  // Two streams whose kernels come nearly in order, against a bitmap.
  std::mt19937 random(7);
  std::vector<TimeSpan> spans;
  for (int stream = 0; stream < 2; ++stream) {
    std::uint64_t at = 0;
    for (int kernel = 0; kernel < 20'000; ++kernel) {
      const std::uint64_t start = at + random() % 20;
      at = start + random() % 30;
      spans.push_back({start, at});
    }
  }
  std::ranges::sort(spans, {}, &TimeSpan::end_ns);
  const TimeSpan window{.start_ns = 1000, .end_ns = 1'000'000};
  std::vector<bool> busy(window.end_ns);
  for (const TimeSpan& span : spans) {
    for (auto at = span.start_ns; at < std::min(span.end_ns, window.end_ns); ++at) busy[at] = true;
  }
  const auto expected =
      static_cast<std::uint64_t>(std::count(busy.begin() + 1000, busy.end(), true));
  EXPECT_EQ(length_of(spans, window, 1u << 20), expected);
  EXPECT_EQ(length_of(spans, window, 300), expected);
}

TEST(BusyTime, ThePictureKeepsTheLargestGaps) {
  BusyTime busy(10, 2);
  busy.begin_at(0);
  for (const TimeSpan& span : {TimeSpan{0, 10}, {11, 20}, {50, 60}, {62, 70}}) busy.add(span);
  const auto result = busy.finish(all);
  EXPECT_EQ(result.length_ns, 37u) << "the picture changes nothing in the sum";
  EXPECT_THAT(result.picture, ElementsAre(TimeSpan{0, 20}, TimeSpan{50, 70}));
}

TEST(CloseGaps, LeavesAsManyAsAsked) {
  for (const std::size_t most : {1u, 2u, 5u, 9u, 10u, 20u}) {
    std::vector<TimeSpan> spans;
    for (std::uint64_t at = 0; at < 10; ++at) spans.push_back({at * 10, at * 10 + 5});  // all alike
    close_gaps(spans, most);
    EXPECT_EQ(spans.size(), std::min<std::size_t>(most, 10));
    EXPECT_EQ(spans.front().start_ns, 0u);
    EXPECT_EQ(spans.back().end_ns, 95u);
  }
}

TEST(GpuActivity, SaysWhyNotWhereItCannotRecord) {
  if (GpuActivity::why_not().empty()) GTEST_SKIP() << "it can";
  EXPECT_ANY_THROW(static_cast<void>(GpuActivity::start()));
  EXPECT_EQ(GpuActivityReport{}.busy(), 0.0);
}

}  // namespace
}  // namespace offramp
