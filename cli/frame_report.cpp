// SPDX-License-Identifier: Apache-2.0
#include "frame_report.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace offramp::cli {
namespace {

constexpr double picture_width = 1000;
constexpr double row_height = 34;
constexpr double left = 90;
constexpr double top = 24;

constexpr std::array<const char*, frame_stages.size()> colors{"#4c78a8", "#72b7b2", "#eeca3b",
                                                              "#b279a2", "#54a24b"};

constexpr auto head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>offramp frames</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1120px; color: #222; }
h1 { font-size: 1.3em; } p.limit { font-size: 1.1em; }
svg { width: 100%; height: auto; background: #fafafa; border: 1px solid #ddd; }
svg text { font: 12px system-ui, sans-serif; fill: #444; }
table { border-collapse: collapse; margin: 1.5em 0; }
td, th { padding: .25em 1.2em .25em 0; border-bottom: 1px solid #e4e4e4; text-align: left; }
td + td { font-variant-numeric: tabular-nums; }
#at { min-height: 1.5em; color: #555; }
</style></head><body>
)";

constexpr auto tail = R"(<script>
const at = document.getElementById("at");
document.querySelectorAll("rect[data-at]").forEach(r => r.addEventListener("mouseover",
  () => { at.textContent = r.dataset.at; }));
</script>
</body></html>
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text, 1000)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Spans too thin to see are drawn as one with their neighbours, so that a long job stays a small
// file.
struct Drawn {
  double start_s{};
  double end_s{};
  std::uint64_t first{};
  std::uint64_t last{};
};

std::vector<Drawn> thinned(const std::vector<StageSpan>& spans, double pixel_s) {
  std::vector<Drawn> drawn;
  for (const StageSpan& span : spans) {
    const bool joins = !drawn.empty() && span.start_s - drawn.back().end_s < 0.3 * pixel_s &&
                       span.end_s - drawn.back().start_s < 2 * pixel_s;
    if (joins) {
      drawn.back().end_s = std::max(drawn.back().end_s, span.end_s);
      drawn.back().last = span.chunk;
    } else {
      drawn.push_back({span.start_s, span.end_s, span.chunk, span.chunk});
    }
  }
  return drawn;
}

class Picture {
 public:
  explicit Picture(double wall_s) : scale_(picture_width / std::max(wall_s, 1e-9)) {}

  void rects(const std::vector<StageSpan>& spans, double y, double height, const char* color,
             std::string_view name) {
    for (const Drawn& span : thinned(spans, 1 / scale_)) {
      const std::string which = span.first == span.last
                                    ? fmt::format("chunk {}", span.first)
                                    : fmt::format("chunks {} to {}", span.first, span.last);
      fmt::format_to(std::back_inserter(text_),
                     "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
                     "fill=\"{}\" data-at=\"{}, {}: {:.3f} to {:.3f} ms\"/>\n",
                     left + span.start_s * scale_, y,
                     std::max(0.4, (span.end_s - span.start_s) * scale_), height, color, name,
                     which, 1e3 * span.start_s, 1e3 * span.end_s);
    }
  }

  void label(double y, std::string_view text) {
    fmt::format_to(std::back_inserter(text_), "<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y, text);
  }

  void line(double at_s, double bottom, std::string_view text) {
    const double x = left + at_s * scale_;
    fmt::format_to(std::back_inserter(text_),
                   "<line x1=\"{0:.2f}\" y1=\"14\" x2=\"{0:.2f}\" y2=\"{1:.1f}\" stroke=\"#d00\" "
                   "stroke-dasharray=\"5 4\"/><text x=\"{2:.2f}\" y=\"12\" text-anchor=\"end\">{3}"
                   "</text>\n",
                   x, bottom, std::max(x - 3, 220.0), text);
  }

  void axis(double wall_s, double y) {
    for (int mark = 0; mark <= 5; ++mark) {
      fmt::format_to(std::back_inserter(text_),
                     "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.3g} s</text>\n",
                     left + picture_width * mark / 5, y, wall_s * mark / 5);
    }
  }

  [[nodiscard]] std::string svg(double height) const {
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}</svg>\n",
                       left + picture_width + 30, height, text_);
  }

 private:
  double scale_;
  std::string text_{};
};

}  // namespace

std::string FrameReport::to_html() const {
  Picture picture(run.wall_s);
  double y = top;
  for (std::size_t row = 0; row < frame_stages.size(); ++row) {
    picture.label(y + row_height / 2, frame_stages[row]);
    picture.rects(times.rows[row].spans, y, row_height - 8, colors[row], frame_stages[row]);
    y += row_height;
  }
  if (run.gpu) {
    std::vector<StageSpan> kernels;
    const auto since = [&](std::uint64_t at) {
      return static_cast<double>(at - run.gpu->window.start_ns) * 1e-9;
    };
    for (const TimeSpan& span : run.gpu->picture) {
      kernels.push_back({.start_s = since(span.start_ns), .end_s = since(span.end_ns)});
    }
    picture.label(y + row_height / 2, "GPU");
    picture.rects(kernels, y, row_height - 8, "#76b900", "kernels");
    y += row_height;
  }
  picture.label(y + row_height / 2, "stalls");
  picture.rects(times.stalls, y, row_height - 8, "#e45756", "the producer waits");
  y += row_height;
  if (times.whole && times.ideal_s() > 0)
    picture.line(times.ideal_s(), y, fmt::format("ideal: {:.3f} s", times.ideal_s()));
  picture.axis(run.wall_s, y + 14);

  std::string html = head;
  html += fmt::format("<h1>{}</h1>\n<p class=\"limit\">{}</p>\n", escaped(title),
                      escaped(what_limited(times, run.wall_s, run.processors_busy)));
  html += picture.svg(y + 24);
  html += "<p id=\"at\">Point at a bar.</p>\n<table>\n";
  for (const auto& [name, value] : facts)
    html += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(name), escaped(value));
  html +=
      "</table>\n<table>\n<tr><th>step</th><th>busy</th><th>of the time</th><th>threads</th>"
      "<th>work of all threads</th></tr>\n";
  for (std::size_t row = 0; row < frame_stages.size(); ++row) {
    const FrameTimes::Row& step = times.rows[row];
    html += fmt::format(
        "<tr><td>{}</td><td>{:.3f} s</td><td>{:.1f} %</td><td>{}</td><td>{:.3f} s</td></tr>\n",
        frame_stages[row], step.busy_s, run.wall_s > 0 ? 100 * step.busy_s / run.wall_s : 0,
        step.threads, step.work_s);
  }
  html += "</table>\n";
  if (!times.whole)
    html += "<p>The timeline kept the end of the job only: its sums are too small.</p>\n";
  html +=
      "<p>A video's encoder works within <em>write</em>. The ideal is the longest row: what the "
      "job takes where all steps run at once and none takes processors from another.</p>\n";
  return html + tail;
}

}  // namespace offramp::cli
