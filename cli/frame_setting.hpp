// SPDX-License-Identifier: Apache-2.0
// What the ways of a job share.
#pragma once

#include "command.hpp"
#include "frame_job.hpp"
#include "processor_use.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/engine/trace.hpp>
#include <offramp/generators/generator.hpp>
#include <offramp/transport/frame_sink.hpp>
#include <offramp/transport/frame_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace offramp::cli {

/// Adds spans of one thread that does one thing after the other.
class Stopwatch {
 public:
  explicit Stopwatch(Trace& trace) : trace_(trace) {}
  /// What was done since the last call, or since this was made.
  void lap(const char* stage, std::uint64_t chunk, std::uint64_t bytes = 0) {
    const std::uint64_t now = Trace::now_ns();
    trace_.add({.stage = stage,
                .thread = 0,
                .chunk = chunk,
                .bytes = bytes,
                .start_ns = last_,
                .end_ns = now});
    last_ = now;
  }
  void skip() { last_ = Trace::now_ns(); }

 private:
  Trace& trace_;
  std::uint64_t last_{Trace::now_ns()};
};

/// Of the whole job: its time, how busy the processors were, and where it runs on a GPU, when that
/// was.
class Clock {
 public:
  explicit Clock(const Device& device);

  /// Notes the time since this was made in `run`, and the span of the job in its trace.
  void stop(FrameRun& run);

 private:
  std::optional<GpuActivity> gpu_{};
  std::string gpu_unknown_{};
  std::uint64_t start_{};
  std::optional<ProcessorUse> processors_{};
};

/// Frames of a generator, a few of small ones at once.
struct Generated {
  Generated(const FrameJob& job, const FrameFormat& format)
      : stream(job.device.make_stream()),
        generator(make_generator(job.options.source, job.device, stream,
                                 {.width = format.width, .height = format.height})),
        total(job.options.frame_count()),
        chunk(std::clamp<std::size_t>((1u << 20) / generator->frame_size(), 1, 16)) {}

  [[nodiscard]] std::uint64_t next(std::uint64_t done) const {
    return std::min<std::uint64_t>(chunk, total - done);
  }
  [[nodiscard]] Buffer room(Device& device) const {
    return Buffer(stream, device.memory(), chunk * generator->frame_size());
  }

  Stream stream;
  std::unique_ptr<Generator> generator;
  std::uint64_t total;
  std::size_t chunk;
};

/// What a job is run on, made anew for each run.
struct Setting {
  std::shared_ptr<FrameSink> sink{};
  std::unique_ptr<FrameSource> source{};  // or
  std::optional<Generated> generated{};
  FrameFormat format{};
  std::optional<std::uint64_t> frames{};  // in all, where that is known
};

[[nodiscard]] Setting prepare(const FrameJob& job);

/// Room for the spans of so many frames.
[[nodiscard]] std::shared_ptr<Trace> make_trace(std::optional<std::uint64_t> frames);

[[noreturn]] void throw_cancelled(const FrameJob& job);

/// The error, and where the frames before it are kept, if they are.
[[nodiscard]] Error with_partial(Error error, const FrameSink& sink);

[[nodiscard]] FrameRun run_behind(const FrameJob& job, Setting& with);
[[nodiscard]] FrameRun run_sync(const FrameJob& job, Setting& with);
[[nodiscard]] FrameRun run_alone(const FrameJob& job, Setting& with);

}  // namespace offramp::cli
