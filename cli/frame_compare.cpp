// SPDX-License-Identifier: Apache-2.0
#include "frame_compare.hpp"

#include "frame_report.hpp"
#include "frame_times.hpp"
#include "output.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace offramp::cli {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// All rounds of one way.
struct Rounds {
  std::string name{};
  std::vector<double> wall_s{};
  std::vector<FrameTimes> times{};
  std::vector<double> gpu_busy{};  // of each round, on a GPU

  void add(const FrameRun& run) {
    if (run.gpu) gpu_busy.push_back(run.gpu->busy());
    wall_s.push_back(run.wall_s);
    times.push_back(frame_times(*run.trace));
  }

  [[nodiscard]] double spread() const {
    const auto [low, high] = std::ranges::minmax(wall_s);
    return (high - low) / median(wall_s);
  }
  [[nodiscard]] double step(std::size_t row) const {
    std::vector<double> all;
    for (const FrameTimes& one : times) all.push_back(one.rows[row].busy_s);
    return median(std::move(all));
  }

  [[nodiscard]] nlohmann::json to_json() const {
    const auto [low, high] = std::ranges::minmax(wall_s);
    nlohmann::json json{{"seconds", wall_s},
                        {"min", low},
                        {"median", median(wall_s)},
                        {"max", high},
                        {"spread", spread()}};
    if (!gpu_busy.empty()) json["gpu_busy"] = gpu_busy;
    return json;
  }
  void add_row(Table& table, double ideal_s, double compute_s) const {
    const auto [low, high] = std::ranges::minmax(wall_s);
    table.add({name, fmt::format("{:.3f}", low), fmt::format("{:.3f}", median(wall_s)),
               fmt::format("{:.3f}", high), fmt::format("{:.1f} %", 100 * spread()),
               fmt::format("{:.1f} %", 100 * compute_s / median(wall_s)),
               gpu_busy.empty() ? "-" : fmt::format("{:.1f} %", 100 * median(gpu_busy)),
               fmt::format("{:.3f}x", median(wall_s) / ideal_s)});
  }
};

}  // namespace

int compare_ways(FrameJob job, FrameExtras extras, const Context& context) {
  Rounds behind{.name = "all at once"};
  Rounds sync{.name = "one after the other"};
  Rounds alone{.name = "making frames alone"};
  FrameRun last;
  const auto rounds = static_cast<std::uint64_t>(job.options.compare);
  Progress progress("compare", rounds, context.progress_style(), "rounds");
  for (std::uint64_t round = 0; round < rounds; ++round) {
    alone.add(job.run(Way::alone));
    sync.add(job.run(Way::sync));
    job.overwrite = true;  // what this command has written
    last = job.run(Way::behind);
    behind.add(last);
    progress.update(round + 1);
  }

  // Steps one after the other take no processors from each other: their sums are what each needs.
  const double compute_s = median(alone.wall_s);
  const double convert_s = sync.step(1);
  const double copy_s = sync.step(2);
  const double code_s = sync.step(3) + sync.step(4);
  const double ideal_s = std::max({compute_s, convert_s, copy_s, code_s});
  const double gain = median(sync.wall_s) / median(behind.wall_s);

  if (extras.trace) extras.trace.write(last.trace->to_json(), job.options.out);
  if (extras.report) {
    const auto seconds = [](double value) { return fmt::format("{:.3f} s", value); };
    const FrameReport report{
        .title = fmt::format("{} to {}, the last of {} rounds", job.options.source, job.options.out,
                             rounds),
        .run = last,
        .times = behind.times.back(),
        .facts = {{"all at once, median", seconds(median(behind.wall_s))},
                  {"one after the other, median", seconds(median(sync.wall_s))},
                  {"making frames alone, median", seconds(compute_s)},
                  {"ideal: the longest of the steps on their own", seconds(ideal_s)},
                  {"frames", fmt::format("{}", last.frames_out)},
                  {"device", std::string(job.device.name())}}};
    extras.report.write(report.to_html(), job.options.out);
  }

  const nlohmann::json machine{
      {"ok", true},
      {"command", "frames"},
      {"input", job.options.source},
      {"output", job.options.out},
      {"device", job.device.name()},
      {"rounds", rounds},
      {"frames", last.frames_out},
      {"behind", behind.to_json()},
      {"sync", sync.to_json()},
      {"alone", alone.to_json()},
      {"steps",
       {{"compute", compute_s},
        {"convert", convert_s},
        {"copy", copy_s},
        {"encode_and_write", code_s}}},
      {"producer_busy",
       {{"behind", compute_s / median(behind.wall_s)}, {"sync", compute_s / median(sync.wall_s)}}},
      {"ideal_seconds", ideal_s},
      {"gain", gain}};
  Table table(
      {"", "min s", "median s", "max s", "spread", "producer busy", "GPU busy", "of ideal"});
  behind.add_row(table, ideal_s, compute_s);
  sync.add_row(table, ideal_s, compute_s);
  alone.add_row(table, ideal_s, compute_s);
  context.print(
      machine,
      fmt::format(
          "{}, {} rounds each, in turns\n{}"
          "steps on their own: compute {:.3f} s, convert {:.3f} s, copy {:.3f} s, encode and "
          "write {:.3f} s\n"
          "producer busy: the time of making frames alone, of the whole; ideal, the longest "
          "step: {:.3f} s,\nwhere none takes processors from another\n"
          "all at once is {:.2f} times as fast as one after the other. {}\n",
          counted(last.frames_out, "frame"), rounds, table.to_string(), compute_s, convert_s,
          copy_s, code_s, ideal_s, gain,
          what_limited(behind.times.back(), last.wall_s, last.processors_busy)));
  return done;
}

}  // namespace offramp::cli
