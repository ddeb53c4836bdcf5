// SPDX-License-Identifier: Apache-2.0
#include <offramp/engine/counters.hpp>
#include <offramp/engine/trace.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace offramp {
namespace {

TEST(Counters, GoOutAsJson) {
  Counters counters;
  counters.chunks_in = 7;
  counters.stall_ns = UINT64_MAX;
  counters.coded_slots_peak = 3;
  const auto json = nlohmann::json::parse(counters.to_json());
  EXPECT_EQ(json.size(), sizeof(Counters) / sizeof(std::uint64_t));
  EXPECT_EQ(json.at("chunks_in"), 7);
  EXPECT_EQ(json.at("stall_ns").get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json.at("coded_slots_peak"), 3);
}

TEST(Counters, GoOutAsPrometheusText) {
  Counters counters;
  counters.bytes_in = 12;
  counters.stall_ns = 1'500'000'000;
  counters.host_slots = 6;
  const std::string text = counters.to_prometheus("job");
  EXPECT_NE(text.find("# TYPE job_bytes_in_total counter\njob_bytes_in_total 12\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\njob_stall_seconds_total 1.500000000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE job_host_slots gauge\njob_host_slots 6\n"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# ") || line.starts_with("job_")) << line;
  }
}

TEST(Trace, KeepsTheLastSpansAndSaysHowManyItLost) {
  Trace trace(4);
  for (std::uint64_t at = 0; at < 10; ++at) {
    trace.add({.stage = "encode",
               .thread = 2,
               .chunk = at,
               .bytes = 100,
               .start_ns = 1000 * at,
               .end_ns = 1000 * at + 500});
  }
  EXPECT_EQ(trace.overwritten(), 6u);
  const auto json = nlohmann::json::parse(trace.to_json());
  EXPECT_EQ(json.at("otherData").at("spans_overwritten"), 6);
  std::vector<std::uint64_t> chunks;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_EQ(event.at("name"), "encode");
    EXPECT_EQ(event.at("tid"), 2);
    EXPECT_DOUBLE_EQ(event.at("dur"), 0.5);
    EXPECT_EQ(event.at("args").at("bytes"), 100);
    chunks.push_back(event.at("args").at("chunk"));
  }
  EXPECT_EQ(chunks, (std::vector<std::uint64_t>{6, 7, 8, 9}));
}

TEST(Trace, TakesSpansFromSeveralThreadsAndWritesAFile) {
  Trace trace;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&trace, thread] {
        for (int at = 0; at < 500; ++at) {
          const auto now = Trace::now_ns();
          trace.add({.stage = "write",
                     .thread = thread,
                     .chunk = 1,
                     .bytes = 1,
                     .start_ns = now,
                     .end_ns = now + 1});
        }
      });
    }
  }
  const auto path = std::filesystem::temp_directory_path() /
                    ("offramp_trace_" + std::to_string(::getpid()) + ".json");
  trace.write(path.string());
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  // The process, four threads, and their spans.
  EXPECT_EQ(json.at("traceEvents").size(), 1u + 4 + 4 * 500);
}

}  // namespace
}  // namespace offramp
