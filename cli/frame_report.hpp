// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame_job.hpp"
#include "frame_times.hpp"

#include <string>
#include <utility>
#include <vector>

namespace offramp::cli {

/// What a report shows.
struct FrameReport {
  std::string title{};
  const FrameRun& run;
  const FrameTimes& times;
  std::vector<std::pair<std::string, std::string>> facts{};  ///< rows of the table, in order

  /// One HTML file that needs nothing else: the timeline as a picture, the facts, and what limited
  /// the job.
  [[nodiscard]] std::string to_html() const;
};

}  // namespace offramp::cli
