// SPDX-License-Identifier: Apache-2.0
#include "frame_job.hpp"

#include "frame_feed.hpp"
#include "frame_setting.hpp"
#include "frame_times.hpp"
#include "text.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace offramp::cli {

std::shared_ptr<Trace> make_trace(std::optional<std::uint64_t> frames) {
  // A frame leaves up to six spans.
  return std::make_shared<Trace>(
      std::clamp<std::size_t>(frames.value_or(0) * 8, 1u << 16, 1u << 19));
}

Clock::Clock(const Device& device) {
  if (device.name() != "host") {
    gpu_unknown_ = GpuActivity::why_not();
    if (gpu_unknown_.empty()) {
      try {
        gpu_.emplace(GpuActivity::start());
      } catch (const std::exception& error) {  // another profiler, say: the job goes on without
        gpu_unknown_ = error.what();
      }
    }
  }
  processors_.emplace();
  start_ = Trace::now_ns();
}

std::string gpu_text(const FrameRun& run) {
  if (!run.gpu) return run.gpu_unknown.empty() ? "" : "GPU busy is not known: " + run.gpu_unknown;
  const std::string lost =
      run.gpu->lost_records > 0
          ? fmt::format(", at least: CUPTI lost {} records", run.gpu->lost_records)
          : "";
  return fmt::format("GPU busy {:.1f} % (CUPTI: kernels of all streams{})", 100 * run.gpu->busy(),
                     lost);
}

void Clock::stop(FrameRun& run) {
  const std::uint64_t end = Trace::now_ns();
  run.processors_busy = processors_->busy();
  if (gpu_) {
    try {
      run.gpu = gpu_->stop();
    } catch (const std::exception& error) {
      gpu_unknown_ = error.what();
    }
  }
  run.gpu_unknown = gpu_unknown_;
  run.wall_s = static_cast<double>(end - start_) * 1e-9;
  run.trace->add({.stage = whole_job, .thread = 0, .start_ns = start_, .end_ns = end});
}

void throw_cancelled(const FrameJob& job) {
  throw DataError(
      {.code = ErrorCode::cancelled, .what = "cancelled", .path = job.options.out, .remedy = {}});
}

Error with_partial(Error error, const FrameSink& sink) {
  const std::string kept = sink.partial_path();
  if (kept.empty()) return error;
  if (!error.remedy.empty()) error.remedy += "; ";
  error.remedy += fmt::format("the frames before it are kept in {}", kept);
  return error;
}

// Refuses more frames than the output holds, where that can be known before the first one.
void expect_room(const FrameOptions& options, const Setting& setting) {
  const auto most = setting.sink->frame_limit();
  const bool known = setting.generated || setting.source->count();
  if (!most || !known || setting.frames.value_or(0) <= *most) return;
  throw UsageError(
      {.code = ErrorCode::unsupported,
       .what = fmt::format("one picture file holds one frame, and {} would come", *setting.frames),
       .path = options.out,
       .remedy = "name a folder ('frames/') or a pattern ('frame_%05d.png'), or take "
                 "--frames 1"});
}

Setting prepare(const FrameJob& job) {
  Setting setting;
  FrameSinkOptions how = job.options.sink_options();
  how.overwrite = how.overwrite || job.overwrite;
  how.cancel = job.stop;
  setting.sink = as_asked([&] { return make_frame_sink(job.options.out, how); });
  if (job.options.is_generator()) {
    setting.format = generated_format(job.options, setting.sink->formats());
    setting.generated.emplace(job, setting.format);
    setting.frames = setting.generated->total;
  } else {
    setting.source = open_feed(job.options, setting.sink->formats(), job.stop);
    setting.format = setting.source->format();
    setting.frames = setting.source->count();
    if (job.options.frames)
      setting.frames = std::min(*job.options.frames, setting.frames.value_or(*job.options.frames));
  }
  expect_room(job.options, setting);
  return setting;
}

FrameRun FrameJob::run(Way way) const {
  Setting setting = prepare(*this);
  FrameRun run;
  switch (way) {
    case Way::behind:
      run = run_behind(*this, setting);
      break;
    case Way::sync:
      run = run_sync(*this, setting);
      break;
    case Way::alone:
      return run_alone(*this, setting);
  }
  if (run.frames_out + run.dropped != run.frames_in) {
    throw MachineError({.code = ErrorCode::mismatch,
                        .what = fmt::format("{} went in, the file holds {}",
                                            counted(run.frames_in, "frame"), run.frames_out),
                        .path = options.out,
                        .remedy = "do not use the file, and report this"});
  }
  return run;
}

}  // namespace offramp::cli
