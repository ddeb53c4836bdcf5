// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace offramp {

/// An ordered queue and the thread that works it off. Commands are numbered from 1; an event is a
/// number in a stream, so recording one costs no command.
class HostStream {
 public:
  using Fn = void (*)(void*) noexcept;

  /// Commands that ran, and those who wait for them. Outlives the stream where an event refers to
  /// it.
  struct Done {
    std::atomic<std::uint64_t> commands{0};

    void wait_for(std::uint64_t number) const noexcept {
      for (auto now = commands.load(std::memory_order_acquire); now < number;
           now = commands.load(std::memory_order_acquire)) {
        commands.wait(now, std::memory_order_acquire);
      }
    }
    [[nodiscard]] bool reached(std::uint64_t number) const noexcept {
      return commands.load(std::memory_order_acquire) >= number;
    }
  };

  struct Point {
    std::shared_ptr<const Done> of{};
    std::uint64_t number{};
  };

  HostStream();

  /// Waits for the work.
  ~HostStream();

  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void copy(std::byte* to, const std::byte* from, std::size_t size);
  void call(Fn fn, void* arg);
  void wait(Point point);
  [[nodiscard]] Point last() const;

 private:
  // One of three: a wait where `point.of` is set, a call where `fn` is, else a copy.
  struct Command {
    Point point{};
    Fn fn{};
    void* arg{};
    std::byte* to{};
    const std::byte* from{};
    std::size_t size{};
  };

  void push(Command command);
  void work() noexcept;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Command> ring_;  // a power of two long
  std::uint64_t pushed_{0};
  std::uint64_t taken_{0};
  bool stop_{false};
  std::shared_ptr<Done> done_;
  std::thread thread_;
};

}  // namespace offramp
