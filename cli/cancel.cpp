// SPDX-License-Identifier: Apache-2.0
#include "cancel.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace offramp::cli {
namespace {

// A signal handler may do little: it notes the number and writes a byte; a thread does the rest.
std::atomic<int> caught{0};
std::atomic<std::int64_t> caught_ms{0};
std::array<int, 2> wake_pipe{-1, -1};
constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

// `timeout`, a shell and a terminal may each tell a process and its group of one and the same end:
// what follows so closely is no second wish.
constexpr std::int64_t same_wish_ms = 500;

std::int64_t now_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // which a handler may call
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int number) {
  int none = 0;
  if (caught.compare_exchange_strong(none, number)) {
    caught_ms = now_ms();
  } else {
    const std::int64_t first = caught_ms;  // 0: the other handler has just begun
    if (first == 0 || now_ms() - first < same_wish_ms) return;
    constexpr std::string_view text =
        "offramp: ended at once; what was being written may lie beside its target as .tmp-...\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
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
