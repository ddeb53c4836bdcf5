// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "extra_file.hpp"
#include "frame_options.hpp"

#include <offramp/engine/counters.hpp>
#include <offramp/engine/trace.hpp>
#include <offramp/frames/pixel_format.hpp>
#include <offramp/probe/gpu_activity.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace offramp::cli {

/// What one run of a job did.
struct FrameRun {
  FrameFormat format{};
  std::uint64_t frames_in{};
  std::uint64_t frames_out{};  ///< that the file holds, by the writer of that format's own count
  std::uint64_t dropped{};
  std::uint64_t bytes_out{};
  double processors_busy{};            ///< that it may use, with all there was to do, 0 to 1
  double wall_s{};                     ///< from the first frame's start until the file is complete
  std::optional<Counters> counters{};  ///< not of --sync
  std::shared_ptr<Trace> trace{};      ///< with a span of the whole job

  std::optional<GpuActivityReport> gpu{};  ///< of the whole job, on a GPU
  std::string gpu_unknown{};               ///< why that is missing on a GPU
};

/// "GPU busy 99.1 %", or why that is not known; empty on the host.
[[nodiscard]] std::string gpu_text(const FrameRun& run);

/// What --report and --trace ask for, opened before the job.
struct FrameExtras {
  explicit FrameExtras(const FrameOptions& options)
      : report(options.report_path), trace(options.trace_path) {}
  ExtraFile report;
  ExtraFile trace;
};

enum class Way {
  behind,  ///< through FrameWriter
  sync,    ///< one thing after the other
  alone,   ///< frames are made, and thrown away
};

struct FrameJob {
  const FrameOptions& options;
  Device& device;
  std::stop_token stop{};
  struct Done {
    std::uint64_t frames{};  // written or dropped
    std::uint64_t dropped{};
    std::optional<std::uint64_t> total{};
  };
  std::function<void(const Done& done)> on_progress{};
  bool overwrite{false};

  /// Runs the job. What fails is thrown as it came, with the frame in its words, and with where the
  /// frames before it are kept, if they are.
  [[nodiscard]] FrameRun run(Way way) const;
};

}  // namespace offramp::cli
