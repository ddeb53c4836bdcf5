// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include "output.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace offramp::cli {

Progress::Style Progress::style_for_stderr(bool quiet) {
  if (quiet) return Style::none;
  return isatty(STDERR_FILENO) ? Style::bar : Style::lines;
}

Progress::Progress(std::string label, std::uint64_t total, Style style, std::string unit)
    : label_(std::move(label)),
      total_(total),
      style_(style),
      unit_(std::move(unit)),
      start_(Clock::now()) {}

Progress::~Progress() {
  if (open_) say("\n");
}

void Progress::update(std::uint64_t done, std::string note) {
  note_ = std::move(note);
  if (style_ == Style::none || total_ == 0) return;
  done = std::min(done, total_);
  const bool last = done == total_;
  if (std::exchange(over_, last) && last) return;
  if (style_ == Style::bar) {
    const auto now = Clock::now();
    if (!last && now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    draw(done, last);
    return;
  }
  const auto tenth =
      static_cast<std::uint64_t>(static_cast<double>(done) / static_cast<double>(total_) * 10);
  if (tenth < next_tenth_) return;
  next_tenth_ = tenth + 1;
  draw(done, last);
}

void Progress::draw(std::uint64_t done, bool last) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const double left = part > 0 ? seconds / part - seconds : 0;
  const std::string rest =
      last ? fmt::format("in {:.1f} s", seconds) : fmt::format("{:.0f} s left", left);
  const std::string amount = unit_.empty()
                                 ? fmt::format("{} of {}  {}", human_size(done), human_size(total_),
                                               human_rate(done, seconds))
                                 : fmt::format("{} of {} {}{}", done, total_, unit_, note_);
  const std::string figures = fmt::format("{:3.0f} %  {}  {}", 100 * part, amount, rest);
  if (style_ == Style::lines) {
    say(fmt::format("{}: {}\n", label_, figures));
    return;
  }
  constexpr std::size_t width = 24;
  const auto filled = static_cast<std::size_t>(part * width);
  say(fmt::format("\r{} [{:#<{}}{:.<{}}] {}\033[K{}", label_, "", filled, "", width - filled,
                  figures, last ? "\n" : ""));
  open_ = !last;
}

}  // namespace offramp::cli
