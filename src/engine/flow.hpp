// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/progress.hpp"
#include "engine/slot_pool.hpp"

#include <offramp/engine/counters.hpp>
#include <offramp/engine/ticket.hpp>
#include <offramp/engine/trace.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace offramp {

/// The machine under every job: slots are filled, transformed by several threads at once, and
/// consumed by one at a time in the order of submission. The threads do both: which has made the
/// slot that is next consumes it, while it is in its cache and without waking another. Memory,
/// order, errors and the end are its business; what is in a slot is its heirs'.
///
/// The threads own the flow together with its holders, so one that hangs in a sink can be left
/// behind.
class Flow : public std::enable_shared_from_this<Flow> {
 public:
  struct Settings {
    std::size_t host_slots{};
    std::size_t coded_slots{};
    std::size_t coders{};  ///< threads that transform at once; one more may consume
    const char* transform_name{};
    const char* consume_name{};
    const char* unit{"chunk"};  ///< what errors count in
    std::function<void(const Counters&)> on_progress{};
    std::shared_ptr<Trace> trace{};
  };

  explicit Flow(Settings settings);
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Starts the threads; on an exception none is left.
  virtual void start();

  /// An empty host slot; waits for one. @throws the first error; LogicError after close.
  [[nodiscard]] std::size_t acquire();

  /// Gives a slot back unused.
  void release(std::size_t slot) noexcept;

  /// Hands on a slot that was filled for `raw` bytes of original data, as one chunk. @throws as
  /// `acquire`; then the slot is given back.
  void submit(std::size_t slot, std::uint64_t raw);

  /// Takes no more and waits, no longer than `deadline`, until the flow is finished.
  /// @returns false for a missed deadline. @throws the first error.
  bool close(std::optional<Ticket::Clock::time_point> deadline);
  void cancel() noexcept;

  /// Cancels, waits for the threads and joins them; leaves them behind after `patience`.
  void end(std::chrono::milliseconds patience) noexcept;

  /// Keeps what is thrown at present as the flow's error, unless there is one. `number` is the
  /// chunk's, or of what else `unit` says.
  void fail_with_current(std::string_view doing, std::uint64_t number) noexcept;

  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const std::shared_ptr<Progress>& progress() const noexcept { return progress_; }
  [[nodiscard]] Trace* trace() const noexcept { return settings_.trace.get(); }

 protected:
  struct Task {
    std::uint64_t number{};  ///< of the fill, from 1
    std::size_t slot{};
    std::size_t coded{};
    bool holds_slot{};      ///< the slot is needed until consumed
    std::uint64_t bytes{};  ///< for the trace
    std::uint64_t chunk{};  ///< likewise; `number` where `transform` says nothing else
  };
  struct Consumed {
    std::uint64_t raw{};
    std::uint64_t coded{};
    std::uint64_t parts{};
    std::uint64_t stored{};
    std::uint64_t chunks{};
  };

  /// Makes coded slot `task.coded` of host slot `task.slot`. Called by several threads at once, for
  /// different slots. Sets `holds_slot` where the consumer still needs the host slot.
  virtual void transform(Task& task, std::size_t coder) = 0;

  /// Called in order, never twice at a time, by any of the threads.
  virtual Consumed consume(const Task& task) = 0;

  /// Called once, after the last `consume`, if the flow is closed and has not failed.
  virtual void finish() = 0;

  /// What an heir counts beside `counters_`. The mutex is held.
  virtual void add_to(Counters&) const noexcept {}

  // For heirs that put a stage of their own before the host slots. All with the mutex held.
  void mark_staged(std::uint64_t fills = 1) noexcept;  // the next ones' sources may be reused
  void push(std::size_t slot) noexcept;                // on to the coders

  /// @throws the first error; LogicError after close, but for what had `begun` before it.
  void expect_open(bool begun = false) const;

  /// Waits until `ready()`, as a producer: counted as a stall. `ready` may only read. @throws as
  /// `expect_open`.
  template <class Ready>
  void wait_as_producer(std::unique_lock<std::mutex>& lock, Ready ready, bool begun = false) {
    expect_open(begun);
    if (ready()) return;
    const std::uint64_t start = Trace::now_ns();
    ++counters_.stalls;
    slot_free_.wait(lock, [&] { return failed() || (closing_ && !begun) || ready(); });
    const std::uint64_t end = Trace::now_ns();
    counters_.stall_ns += end - start;
    add_span("stall", 0, {.chunk = counters_.chunks_in, .bytes = 0, .start_ns = start});
    expect_open(begun);
  }

  struct SpanStart {
    std::uint64_t chunk{};
    std::uint64_t bytes{};
    std::uint64_t start_ns{};
  };
  void add_span(const char* stage, std::uint32_t thread, const SpanStart& span) const noexcept;

  [[nodiscard]] bool failed() const noexcept { return progress_->failed; }
  [[nodiscard]] std::mutex& mutex() const noexcept { return progress_->mutex; }
  void wake_all() noexcept;

  /// Runs `body()` as a thread of the flow, under that name. It throws nothing.
  void start_thread(const char* name, std::function<void()> body);

  // Guarded by the mutex.
  Counters counters_{};
  SlotPool host_pool_;
  std::size_t upstream_{0};  // submits and fills begun before close that are not pushed yet
  bool closing_{false};
  std::condition_variable slot_free_;
  std::condition_variable upstream_moved_;  // for a heir's own stage

 private:
  void work();
  void code_next(std::unique_lock<std::mutex>& lock);
  void write_next(std::unique_lock<std::mutex>& lock);
  void finish_now(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool may_code() const noexcept;
  [[nodiscard]] bool may_write() const noexcept;
  [[nodiscard]] bool may_finish() const noexcept;
  void pass_work_on() noexcept;  // wakes a thread if there is something to do
  [[nodiscard]] const Task& next_task() const noexcept;
  [[nodiscard]] Counters snapshot() const noexcept;  // mutex held

  const Settings settings_;
  const std::shared_ptr<Progress> progress_;

  // Guarded by the mutex.
  SlotPool coded_pool_;
  Ring<std::size_t> filled_;
  std::uint64_t submitted_{0};  // fills that went into `filled_`
  std::uint64_t taken_{0};      // of these, that a coder took
  std::vector<Task> coded_;     // by number modulo the coded slots
  SlotPool coders_;             // numbers of those that may code
  bool writing_{false};
  bool finishing_{false};
  bool finished_{false};
  std::size_t live_{0};
  const std::exception_ptr cancelled_;
  std::condition_variable work_ready_;  // for the threads that code and write
  std::condition_variable ended_;       // for `end`
  std::vector<std::thread> threads_;
};

}  // namespace offramp
