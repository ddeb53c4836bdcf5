// SPDX-License-Identifier: Apache-2.0
#include "frame_times.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace offramp::cli {
namespace {

std::optional<std::size_t> row_of(std::string_view stage) {
  // Of a source, what computing is for a generator; and a generator's own account.
  if (stage == "read" || stage == "generate") return 0;
  if (stage == "finish") return 4;
  const auto found = std::ranges::find(frame_stages, stage);
  if (found == frame_stages.end()) return std::nullopt;
  return static_cast<std::size_t>(found - frame_stages.begin());
}

double length_of_union(const std::vector<StageSpan>& sorted) {
  double length = 0;
  double end = 0;
  for (const StageSpan& span : sorted) {
    length += std::max(0.0, span.end_s - std::max(span.start_s, end));
    end = std::max(end, span.end_s);
  }
  return length;
}

}  // namespace

double FrameTimes::ideal_s() const { return rows[longest()].busy_s; }

std::size_t FrameTimes::longest() const {
  const auto found = std::ranges::max_element(rows, {}, &Row::busy_s);
  return static_cast<std::size_t>(found - rows.begin());
}

nlohmann::json FrameTimes::to_json() const {
  nlohmann::json json{{"whole", whole}, {"stall_seconds", stall_s}};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    json[std::string(frame_stages[row])] = {{"busy_seconds", rows[row].busy_s},
                                            {"work_seconds", rows[row].work_s},
                                            {"threads", rows[row].threads}};
  }
  return json;
}

FrameTimes frame_times(const Trace& trace) {
  FrameTimes times;
  times.whole = trace.overwritten() == 0;
  const auto json = nlohmann::json::parse(trace.to_json());
  const auto& events = json.at("traceEvents");
  const auto start_of = [](const nlohmann::json& event) { return event.at("ts").get<double>(); };
  double zero = 0;
  bool has_own_account = false;
  for (const auto& event : events) {
    if (event.at("name") == whole_job) zero = start_of(event);
    if (event.at("name") == "generate") has_own_account = true;
  }
  std::array<std::set<int>, frame_stages.size()> threads;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const auto name = event.at("name").get<std::string>();
    const double start = (start_of(event) - zero) * 1e-6;
    const StageSpan span{.start_s = std::max(0.0, start),
                         .end_s = start + event.at("dur").get<double>() * 1e-6,
                         .chunk = event.at("args").at("chunk").get<std::uint64_t>()};
    if (name == "compute" && has_own_account) continue;
    if (name == "stall") times.stalls.push_back(span);
    if (const auto row = row_of(name)) {
      times.rows[*row].spans.push_back(span);
      threads[*row].insert(event.at("tid").get<int>());
    }
  }
  for (std::size_t row = 0; row < times.rows.size(); ++row) {
    FrameTimes::Row& now = times.rows[row];
    std::ranges::sort(now.spans, {}, &StageSpan::start_s);
    now.busy_s = length_of_union(now.spans);
    for (const StageSpan& span : now.spans) now.work_s += span.end_s - span.start_s;
    now.threads = std::max<std::size_t>(1, threads[row].size());
  }
  std::ranges::sort(times.stalls, {}, &StageSpan::start_s);
  times.stall_s = length_of_union(times.stalls);
  return times;
}

std::string what_limited(const FrameTimes& times, double wall_s, double processors_busy) {
  if (!(wall_s > 0)) return "Nothing took any time.";
  const std::size_t longest = times.longest();
  const double part = times.rows[longest].busy_s / wall_s;
  const auto percent = [](double of) { return fmt::format("{:.1f} %", 100 * of); };
  const std::string_view stage = frame_stages[longest];
  std::string text;
  if (part < 0.9) {
    text = fmt::format("No step was busy all the time: the longest, {}, for {} of it. ", stage,
                       percent(part));
    // Steps that have to share the processors gain nothing by running further ahead.
    if (processors_busy > 0.85) {
      return text + fmt::format(
                        "The processors were busy for {} of it: what makes the frames and "
                        "what writes them share them, and more --slots would not help. "
                        "Less work (a faster --preset, a lower --level) or more "
                        "processors would.",
                        percent(processors_busy));
    }
    text += times.stall_s > 0.05 * wall_s
                ? "The steps waited for each other: more --slots let them run ahead."
                : "The rest is starting, and waiting for the first and the last frames.";
    return text;
  }
  if (longest == 0) {
    return fmt::format(
        "Computing limited the job: it was under way for {} of the time, and all else happened "
        "behind it.",
        percent(part));
  }
  text = fmt::format("{} limited the job: it was under way for {} of the time, computing for {}",
                     longest == 4   ? "Writing"
                     : longest == 3 ? "Encoding"
                     : longest == 2 ? "Copying"
                                    : "Converting",
                     percent(part), percent(times.rows[0].busy_s / wall_s));
  if (times.stall_s > 0)
    text += fmt::format(", and the producer waited {:.2f} s for a free buffer", times.stall_s);
  text += longest >= 3 ? ". A faster --preset or a lower --level, more --threads or a faster disk "
                         "make it shorter."
                       : ".";
  return text;
}

}  // namespace offramp::cli
