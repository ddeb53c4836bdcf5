// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>
#include <offramp/engine/jobs.hpp>

#include <functional>

namespace offramp {

/// Runs `body`; what it throws of data from outside, or of a cancel, becomes the Result's error.
template <class Body>
Result<JobReport> run_job(Body body) {
  try {
    return body();
  } catch (const DataError& error) {
    return error.error();
  }
}

inline constexpr std::size_t usual_host_slots = 6;
inline constexpr std::size_t usual_coded_slots = 3;

/// The flow's callback for a job of `total` bytes; empty where the job has none.
inline std::function<void(const Counters&)> progress_for(const JobSettings& settings,
                                                         std::uint64_t total) {
  if (!settings.on_progress) return {};
  return [report = settings.on_progress, total](const Counters& now) {
    report({.bytes_done = now.bytes_done, .bytes_total = total, .counters = now});
  };
}

}  // namespace offramp
