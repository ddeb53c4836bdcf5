// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace offramp::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds signal_check{50};

// One thread that does what the main thread asks and waits for.
class Helper {
 public:
  Helper() {
    std::thread([this] { work(); }).detach();
  }

  void start(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    failure_ = nullptr;
    changed_.notify_all();
  }

  /// Whether it is done; waits a while for it.
  bool done_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return !work_; });
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !work_; });
  }

  /// Of the work that is done.
  std::exception_ptr take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failure_, nullptr);
  }

 private:
  void work() noexcept {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return work_; });
      const std::function<void()>& now = *work_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        now();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_{};
  std::exception_ptr failure_;
};

struct MainThread {
  unsigned long thread{};
  pid_t process{};
  Helper* helper{};  // never destroyed: its thread waits for work until the process ends
  bool busy{};
};

MainThread& main_thread() {
  static MainThread main = [] {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    return MainThread{.thread = nb::cast<unsigned long>(thread.attr("ident")),
                      .process = 0,
                      .helper = nullptr,
                      .busy = false};
  }();
  return main;
}

struct Busy {
  explicit Busy(bool& busy) : flag(busy) { flag = true; }
  ~Busy() { flag = false; }
  bool& flag;
};

}  // namespace

void interruptible(const std::function<void()>& work, const std::function<void()>& give_up) {
  MainThread& main = main_thread();
  // Busy: a signal's handler calls while its thread waits below.
  if (PyThread_get_thread_ident() != main.thread || main.busy) {
    const nb::gil_scoped_release released;
    work();
    return;
  }
  if (main.process != getpid()) {  // a forked process has not the thread
    main.helper = new Helper;
    main.process = getpid();
  }
  const Busy busy(main.busy);
  main.helper->start(work);
  while (true) {
    bool done = false;
    {
      const nb::gil_scoped_release released;
      done = main.helper->done_within(signal_check);
    }
    if (done) break;
    if (PyErr_CheckSignals() != 0) {
      nb::python_error raised;
      {
        const nb::gil_scoped_release released;
        give_up();
        main.helper->wait();
      }
      static_cast<void>(main.helper->take_failure());
      throw raised;
    }
  }
  if (const std::exception_ptr failure = main.helper->take_failure()) {
    std::rethrow_exception(failure);
  }
}

}  // namespace offramp::python
