// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <thread>

namespace offramp::cli {

/// Turns the first SIGINT, SIGTERM or SIGHUP into a stop request, so that a command can unwind and
/// leave no litter; another one, half a second later or more, ends the process at once and says so.
/// One object a process.
class SignalStop {
 public:
  SignalStop();
  ~SignalStop();
  SignalStop(const SignalStop&) = delete;
  SignalStop& operator=(const SignalStop&) = delete;

  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

  /// 128 + the signal that came, as shells expect, or 0.
  [[nodiscard]] int exit_code() const noexcept;

 private:
  void watch() noexcept;

  std::stop_source source_;
  std::thread thread_;
};

}  // namespace offramp::cli
