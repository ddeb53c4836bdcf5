// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace offramp::encoding {

/// Hears what FFmpeg's libraries say in this thread while it lives, and keeps them from printing
/// it. What they say in other threads goes where it went: to FFmpeg's own printing.
///
/// FFmpeg has one place to listen for a whole process: a program that has set a callback of its own
/// loses it when the first LogCapture is made, and may set it again: then messages lack details.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  [[nodiscard]] bool heard() const noexcept { return !first_.empty(); }  ///< an error

  /// The first error that was heard, as the most that is known; words for `code` where there is
  /// none.
  [[nodiscard]] std::string or_words_of(int code) const;

  /// Added to the level of all messages of an encoder, so that those from threads of its own are
  /// printed by nobody.
  static constexpr int level_offset = 100;

 private:
  friend struct LogListener;
  LogCapture* outer_;
  std::string first_{};
};

}  // namespace offramp::encoding
