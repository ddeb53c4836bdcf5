// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/workers.hpp>

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace offramp {
namespace {

// One call of for_each. It lives on the caller's stack; the caller leaves only when no helper is in
// it.
struct Loop {
  std::size_t count;
  void* body;
  void (*thunk)(void*, std::size_t, std::size_t);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
  std::mutex error_mutex{};
  std::size_t helpers{0};  // guarded by Impl::mutex
  Loop* later{nullptr};    // guarded by Impl::mutex

  bool has_work() const noexcept {
    return next.load(std::memory_order_relaxed) < count && !failed.load(std::memory_order_relaxed);
  }

  void work(std::size_t worker) noexcept {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      try {
        thunk(body, index, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        failed = true;
      }
    }
  }
};

std::size_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::size_t>(CPU_COUNT(&set));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

struct Workers::Impl {
  std::mutex mutex;
  std::condition_variable wake;   // helpers: a loop came, or stop
  std::condition_variable leave;  // callers: a helper left a loop
  Loop* first{nullptr};
  bool stop{false};
  std::vector<std::thread> threads;

  void help(std::size_t worker) {
    std::unique_lock lock(mutex);
    while (true) {
      Loop* loop = first;
      while (loop && !loop->has_work()) loop = loop->later;
      if (!loop) {
        if (stop) return;
        wake.wait(lock);
        continue;
      }
      ++loop->helpers;
      lock.unlock();
      loop->work(worker);
      lock.lock();
      if (--loop->helpers == 0) leave.notify_all();
    }
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (auto& thread : threads) thread.join();
  }
};

Workers::Workers(std::size_t threads) : impl_(std::make_unique<Impl>()) {
  if (threads == 0) threads = usable_processors();
  impl_->threads.reserve(threads - 1);
  for (std::size_t worker = 1; worker < threads; ++worker) {
    impl_->threads.emplace_back([impl = impl_.get(), worker] { impl->help(worker); });
  }
}

Workers::Workers(Workers&&) noexcept = default;
Workers& Workers::operator=(Workers&&) noexcept = default;
Workers::~Workers() = default;

std::size_t Workers::size() const noexcept { return impl_->threads.size() + 1; }

void Workers::run(std::size_t count, void* body, Thunk thunk) {
  if (count == 0) return;
  Loop loop{.count = count, .body = body, .thunk = thunk};
  if (count > 1 && !impl_->threads.empty()) {
    {
      const std::lock_guard lock(impl_->mutex);
      loop.later = impl_->first;
      impl_->first = &loop;
    }
    impl_->wake.notify_all();
    loop.work(0);
    std::unique_lock lock(impl_->mutex);
    for (Loop** at = &impl_->first; *at; at = &(*at)->later) {
      if (*at == &loop) {
        *at = loop.later;
        break;
      }
    }
    impl_->leave.wait(lock, [&] { return loop.helpers == 0; });
  } else {
    loop.work(0);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace offramp
