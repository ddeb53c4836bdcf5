// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "frame_compare.hpp"
#include "frame_job.hpp"
#include "frame_options.hpp"
#include "frame_report.hpp"
#include "frame_times.hpp"
#include "output.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <utility>

namespace offramp::cli {
namespace {

constexpr auto examples = R"(Examples:
  offramp frames vortex vortex.mp4                       compute 120 frames, encode them meanwhile
  offramp frames mandelbrot zoom.mp4 --frames 800 --size 1920x1080 --crf 18 --preset veryfast
  offramp frames heat 'heat_%05d.png' --level 1          numbered pictures, coded by all processors
  offramp frames clip.mp4 small.mp4 --size 640x360       decode, scale, encode
  offramp frames shots/ shots.mp4 --fps 12               a folder of pictures
  ffmpeg -i in.mkv -f yuv4mpegpipe - | offramp frames - out.mp4
  offramp frames vortex - | ffplay -                     y4m through a pipe
  offramp frames vortex v.mp4 --compare --report r.html  against one thing after the other

What was written when a job fails or is interrupted is kept under a name that the message tells,
and can be played.)";

std::string rate_text(FrameRate rate) {
  return rate.den == 1 ? fmt::format("{}", rate.num) : fmt::format("{}/{}", rate.num, rate.den);
}

void write_extras(FrameExtras& extras, const FrameOptions& options, const FrameRun& run,
                  const FrameTimes& times, std::string_view device) {
  if (extras.trace) extras.trace.write(run.trace->to_json(), options.out);
  if (!extras.report) return;
  FrameReport report{
      .title = fmt::format("{} to {}", options.source, options.out),
      .run = run,
      .times = times,
      .facts = {
          {"time", fmt::format("{:.3f} s", run.wall_s)},
          {"ideal: the longest step", fmt::format("{:.3f} s", times.ideal_s())},
          {"frames in", fmt::format("{}", run.frames_in)},
          {"frames out", fmt::format("{}", run.frames_out)},
          {"dropped", fmt::format("{}", run.dropped)},
          {"frames", fmt::format("{}x{} {} at {} a second", run.format.width, run.format.height,
                                 name_of(run.format.pixels), rate_text(run.format.rate))},
          {"written", human_size(run.bytes_out)},
          {"device", std::string(device)},
          {"way", options.sync ? "one thing after the other" : "all at once"},
          {"producer busy", fmt::format("{:.1f} %", 100 * times.rows[0].busy_s / run.wall_s)},
          {"the producer waited",
           fmt::format("{:.3f} s, {} times", times.stall_s, times.stalls.size())}}};
  if (const std::string gpu = gpu_text(run); !gpu.empty()) report.facts.emplace_back("GPU", gpu);
  extras.report.write(report.to_html(), options.out);
}

void add_gpu(nlohmann::json& json, const FrameRun& run) {
  if (!run.gpu_unknown.empty()) json["gpu_busy_unknown"] = run.gpu_unknown;
  if (!run.gpu) return;
  json["gpu_busy"] = run.gpu->busy();
  json["gpu"] = {{"kernels", run.gpu->kernels},
                 {"busy_seconds", static_cast<double>(run.gpu->busy_ns) * 1e-9},
                 {"to_host_seconds", static_cast<double>(run.gpu->to_host_ns) * 1e-9},
                 {"to_device_seconds", static_cast<double>(run.gpu->to_device_ns) * 1e-9},
                 {"lost_records", run.gpu->lost_records}};
}

nlohmann::json machine_report(const FrameOptions& options, const FrameRun& run,
                              const FrameTimes& times, std::string_view device) {
  nlohmann::json json{{"ok", true},
                      {"command", "frames"},
                      {"input", options.source},
                      {"output", options.out},
                      {"device", device},
                      {"way", options.sync ? "sync" : "behind"},
                      {"frames_in", run.frames_in},
                      {"frames_out", run.frames_out},
                      {"frames_dropped", run.dropped},
                      {"width", run.format.width},
                      {"height", run.format.height},
                      {"pixel_format", name_of(run.format.pixels)},
                      {"fps", rate_text(run.format.rate)},
                      {"bytes_out", run.bytes_out},
                      {"seconds", run.wall_s},
                      {"ideal_seconds", times.ideal_s()},
                      {"processors_busy", run.processors_busy},
                      {"producer_busy", times.rows[0].busy_s / run.wall_s},
                      {"stalls", times.stalls.size()},
                      {"steps", times.to_json()}};
  add_gpu(json, run);
  if (run.counters) json["counters"] = nlohmann::json::parse(run.counters->to_json());
  return json;
}

std::string shown_output(const std::string& out) {
  if (out == "-") return "standard output";
  return out == "null:" ? "nowhere" : out;
}

std::string human_report(const FrameOptions& options, const FrameRun& run,
                         const FrameTimes& times) {
  const std::string dropped = run.dropped ? fmt::format(", {} dropped", run.dropped) : "";
  std::string gpu = gpu_text(run);
  if (!gpu.empty()) gpu += '\n';
  return fmt::format(
      "{}: {} in, {} out{}, {}x{} {}, {}, {:.2f} s, {:.1f} frames/s\n"
      "the producer was busy for {:.1f} % of the time. {}\n{}",
      shown_output(options.out), counted(run.frames_in, "frame"), run.frames_out, dropped,
      run.format.width, run.format.height, name_of(run.format.pixels), human_size(run.bytes_out),
      run.wall_s, static_cast<double>(run.frames_out) / run.wall_s,
      100 * times.rows[0].busy_s / run.wall_s, what_limited(times, run.wall_s, run.processors_busy),
      gpu);
}

int frames(const FrameOptions& options, const Context& context) {
  options.check();
  if (options.out == "-" && context.json) {
    throw CLI::ValidationError("--json and the frames cannot both go to standard output");
  }
  FrameJob job{.options = options, .device = options.find(), .stop = context.stop};
  FrameExtras extras(options);
  if (options.compare > 0) return compare_ways(std::move(job), std::move(extras), context);

  std::unique_ptr<Progress> progress;
  job.on_progress = [&](const FrameJob::Done& now) {
    if (!now.total) return;
    if (!progress) {
      progress =
          std::make_unique<Progress>("write", *now.total, context.progress_style(), "frames");
    }
    progress->update(now.frames, now.dropped ? fmt::format(", {} dropped", now.dropped) : "");
  };
  const FrameRun run = job.run(options.sync ? Way::sync : Way::behind);
  progress.reset();
  const FrameTimes times = frame_times(*run.trace);
  write_extras(extras, options, run, times, job.device.name());
  const std::string text = human_report(options, run, times);
  if (options.out == "-") {
    if (!context.quiet) say(text);  // standard output is the frames'
    return done;
  }
  context.print(machine_report(options, run, times, job.device.name()), text);
  return done;
}

}  // namespace

void add_frames(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("frames", "Write frames, generated or read, while the next ones are made");
  command->footer(examples);
  auto options = std::make_shared<FrameOptions>();
  options->add_to(*command);
  context.add_common_options(*command);
  command->callback(
      [options, &context] { context.run = [=, &context] { return frames(*options, context); }; });
}

}  // namespace offramp::cli
