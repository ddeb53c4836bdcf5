// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/engine/trace.hpp>

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::cli {

/// The steps of a frame, in their order.
inline constexpr std::array<std::string_view, 5> frame_stages{"compute", "convert", "copy",
                                                              "encode", "write"};

struct StageSpan {
  double start_s{};  ///< since the job began
  double end_s{};
  std::uint64_t chunk{};
};

/// When which step ran, from a trace.
struct FrameTimes {
  struct Row {
    std::vector<StageSpan> spans{};
    double busy_s{};         ///< at least one thread at it
    std::size_t threads{1};  ///< that were at it at one time, at most
    double work_s{};         ///< of all threads together
  };
  std::array<Row, frame_stages.size()> rows{};
  std::vector<StageSpan> stalls{};
  double stall_s{};
  bool whole{true};  ///< false: the trace was too short for the job, and the sums are of its end

  /// The least time that these steps need where all of them run at once: the longest of them.
  [[nodiscard]] double ideal_s() const;
  /// The number of that step.
  [[nodiscard]] std::size_t longest() const;

  [[nodiscard]] nlohmann::json to_json() const;
};

/// The span of the whole job; times of others are since its start. Add it last.
inline constexpr const char* whole_job = "job";

/// `trace` holds a span of the whole job.
[[nodiscard]] FrameTimes frame_times(const Trace& trace);

/// What limited a job of `wall_s` that kept the processors busy for `processors_busy` of it (0 to
/// 1), in a sentence for people.
[[nodiscard]] std::string what_limited(const FrameTimes& times, double wall_s,
                                       double processors_busy);

}  // namespace offramp::cli
