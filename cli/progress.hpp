// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace offramp::cli {

/// How far a long command is: a bar redrawn ten times a second on a terminal, a plain line every
/// ten per cent elsewhere, nothing when quiet. Goes to stderr. One thread.
///
/// Own code because Debian 12 packages no C++ progress bar (docs/design/0001-dependencies.md).
class Progress {
 public:
  enum class Style { bar, lines, none };

  /// Bar on a terminal, lines elsewhere, none where `quiet`.
  [[nodiscard]] static Style style_for_stderr(bool quiet);

  /// `unit`: what is counted, where it is not bytes.
  Progress(std::string label, std::uint64_t total, Style style, std::string unit = {});
  /// Ends the line that a bar left open.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total are through; `note` is shown behind the amount.
  void update(std::uint64_t done, std::string note = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw(std::uint64_t done, bool last);

  std::string label_;
  std::uint64_t total_;
  Style style_;
  std::string unit_;
  std::string note_{};
  Clock::time_point start_;
  Clock::time_point drawn_{};
  std::uint64_t next_tenth_{1};
  bool over_{false};
  bool open_{false};
};

}  // namespace offramp::cli
