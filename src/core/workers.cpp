// SPDX-License-Identifier: Apache-2.0
//
// A loop over one small tensor takes less time than to wake a thread. So whoever waits, a helper
// for a loop or a caller for the helpers in its loop, looks again for a while before it sleeps, and
// entering and leaving a loop takes no lock, which would make one of two wait that come at once.
#include <offramp/core/workers.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace offramp {
namespace {

constexpr std::size_t cache_line = 64;

// About what it takes to put a thread to sleep and to wake it.
constexpr std::chrono::microseconds patience{60};

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks for `patience` whether `ready()`; gives the processor to whom it lacks meanwhile.
template <class Ready>
bool look_for(Ready ready) noexcept {
  constexpr int looks = 16;  // between two calls of the system
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int look = 0; look < looks; ++look) {
      if (ready()) return true;
      pause();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// One call of for_each, on its caller's stack.
struct alignas(cache_line) Loop {
  std::size_t count;
  void* body;
  void (*thunk)(void*, std::size_t, std::size_t);
  std::exception_ptr error{};
  std::mutex error_mutex{};
  std::atomic<bool> failed{false};
  alignas(cache_line) std::atomic<std::size_t> next{0};

  // Returns when no index is left to begin, or one has failed.
  void work(std::size_t worker) noexcept {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      try {
        thunk(body, index, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        failed.store(true, std::memory_order_relaxed);
      }
    }
  }
};

// Where helpers find a loop. It outlives the loop, so that a helper may look at it at any time; the
// loop itself is there for those who are counted in `state`.
struct alignas(cache_line) Place {
  static constexpr std::uint32_t taken = 1u << 31;   // by a caller
  static constexpr std::uint32_t open = 1u << 30;    // helpers may enter
  static constexpr std::uint32_t asleep = 1u << 29;  // the caller is to be woken
  static constexpr std::uint32_t helpers = asleep - 1;

  std::atomic<std::uint32_t> state{0};
  Loop* loop{};

  bool take(Loop& by) noexcept {
    std::uint32_t free = 0;
    if (!state.compare_exchange_strong(free, taken, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
    loop = &by;
    return true;
  }

  bool enter() noexcept {
    std::uint32_t now = state.load(std::memory_order_relaxed);
    while ((now & open) != 0) {
      if (state.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // A loop that one thread found nothing in is not worth entering for another.
  void shut() noexcept { state.fetch_and(~open, std::memory_order_relaxed); }

  /// @returns whether the caller sleeps and this was the last helper.
  bool leave() noexcept {
    return (state.fetch_sub(1, std::memory_order_acq_rel) & (asleep | helpers)) == (asleep | 1);
  }

  [[nodiscard]] bool is_left() const noexcept {
    return (state.load(std::memory_order_acquire) & helpers) == 0;
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
  // Callers beyond that many at once work alone.
  std::array<Place, 16> places{};
  alignas(cache_line) std::atomic<std::uint64_t> arrivals{0};  // of loops, and of the end
  std::atomic<std::size_t> sleepers{0};                        // changed with the mutex held
  std::atomic<bool> stop{false};
  std::mutex mutex;              // for sleeping only
  std::condition_variable wake;  // helpers: something arrived
  std::condition_variable left;  // callers: the last helper left
  std::vector<std::thread> threads;

  void help(std::size_t worker) noexcept {
    while (true) {
      // Read first: what arrives while the places are looked at is not overlooked.
      const std::uint64_t seen = arrivals.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_relaxed)) return;
      if (help_with_any(worker)) continue;
      const auto came = [&] { return arrivals.load(std::memory_order_acquire) != seen; };
      if (look_for(came)) continue;
      std::unique_lock lock(mutex);
      // A helper counts itself and then looks for arrivals, a caller arrives and then looks for
      // sleepers: in their one order (seq_cst) at least one of them sees the other.
      sleepers.fetch_add(1);
      wake.wait(lock, [&] { return arrivals.load() != seen; });
      sleepers.fetch_sub(1);
    }
  }

  bool help_with_any(std::size_t worker) noexcept {
    bool helped = false;
    for (Place& place : places) {
      if (!place.enter()) continue;
      helped = true;
      place.loop->work(worker);
      place.shut();
      if (place.leave()) {
        const std::lock_guard lock(mutex);
        left.notify_all();
      }
    }
    return helped;
  }

  Place* take_place(Loop& loop) noexcept {
    for (Place& place : places) {
      if (place.take(loop)) return &place;
    }
    return nullptr;
  }

  void arrive(std::size_t wanted) noexcept {
    arrivals.fetch_add(1);
    const std::size_t asleep = sleepers.load();
    if (asleep == 0) return;
    const std::lock_guard lock(mutex);
    if (wanted >= asleep) return wake.notify_all();
    for (std::size_t i = 0; i < wanted; ++i) wake.notify_one();
  }

  void run(Place& place, Loop& loop) noexcept {
    place.state.fetch_or(Place::open, std::memory_order_release);
    arrive(loop.count - 1);
    loop.work(0);
    place.shut();
    if (!look_for([&] { return place.is_left(); })) {
      std::unique_lock lock(mutex);
      place.state.fetch_or(Place::asleep, std::memory_order_acq_rel);
      left.wait(lock, [&] { return place.is_left(); });
    }
    place.state.store(0, std::memory_order_release);
  }

  ~Impl() {
    stop.store(true, std::memory_order_relaxed);
    arrive(threads.size());
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
  Place* const place = count > 1 && !impl_->threads.empty() ? impl_->take_place(loop) : nullptr;
  if (place) {
    impl_->run(*place, loop);
  } else {
    loop.work(0);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace offramp
