// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_stream.hpp"

#include <cstring>
#include <utility>

namespace offramp {

HostStream::HostStream()
    : ring_(64), done_(std::make_shared<Done>()), thread_([this] { work(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void HostStream::copy(std::byte* to, const std::byte* from, std::size_t size) {
  push({.point = {}, .fn = nullptr, .arg = nullptr, .to = to, .from = from, .size = size});
}

void HostStream::call(Fn fn, void* arg) {
  push({.point = {}, .fn = fn, .arg = arg, .to = nullptr, .from = nullptr, .size = 0});
}

void HostStream::wait(Point point) {
  // A point of this very stream is behind everything pushed so far.
  if (point.of == done_ || point.of->reached(point.number)) return;
  push({.point = std::move(point),
        .fn = nullptr,
        .arg = nullptr,
        .to = nullptr,
        .from = nullptr,
        .size = 0});
}

HostStream::Point HostStream::last() const {
  const std::lock_guard lock(mutex_);
  return {done_, pushed_};
}

void HostStream::push(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (pushed_ - taken_ == ring_.size()) {
      // Blocking here instead could deadlock two streams that wait for each other's later work.
      std::vector<Command> larger(ring_.size() * 2);
      for (std::uint64_t at = taken_; at < pushed_; ++at) {
        larger[at & (larger.size() - 1)] = std::move(ring_[at & (ring_.size() - 1)]);
      }
      ring_ = std::move(larger);
    }
    ring_[pushed_++ & (ring_.size() - 1)] = std::move(command);
  }
  wake_.notify_one();
}

void HostStream::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || taken_ < pushed_; });
    if (taken_ == pushed_) return;
    const Command command = std::exchange(ring_[taken_ & (ring_.size() - 1)], {});
    const std::uint64_t number = ++taken_;
    lock.unlock();
    if (command.point.of) {
      command.point.of->wait_for(command.point.number);
    } else if (command.fn) {
      command.fn(command.arg);
    } else if (command.size != 0) {
      std::memcpy(command.to, command.from, command.size);
    }
    done_->commands.store(number, std::memory_order_release);
    done_->commands.notify_all();
    lock.lock();
  }
}

}  // namespace offramp
