// SPDX-License-Identifier: Apache-2.0
#include "cancel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <system_error>

namespace offramp::cli {
namespace {

// A signal handler may do little: it notes the number and writes a byte; a thread does the rest.
std::atomic<int> caught{0};
std::array<int, 2> wake_pipe{-1, -1};
constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

void on_signal(int number) {
  int none = 0;
  if (!caught.compare_exchange_strong(none, number)) {
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  const char byte = 1;
  if (write(wake_pipe[1], &byte, 1) != 1) _exit(128 + number);
}

}  // namespace

SignalStop::SignalStop() {
  if (pipe2(wake_pipe.data(), O_CLOEXEC) != 0) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    return;  // without it, signals end the program as they do any other
  }
  for (const int number : signals) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // What was ignored (nohup) stays ignored.
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

SignalStop::~SignalStop() {
  for (const int number : signals) std::signal(number, SIG_DFL);
  if (!thread_.joinable()) return;
  const char quit = 0;
  if (write(wake_pipe[1], &quit, 1) == 1) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void SignalStop::watch() noexcept {
  char byte = 0;
  while (read(wake_pipe[0], &byte, 1) == 1 && byte == 1) source_.request_stop();
}

int SignalStop::exit_code() const noexcept {
  const int number = caught.load();
  return number ? 128 + number : 0;
}

}  // namespace offramp::cli
