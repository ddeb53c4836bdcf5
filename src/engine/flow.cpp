// SPDX-License-Identifier: Apache-2.0
#include "engine/flow.hpp"

#include "core/checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>
#include <pthread.h>

#include <utility>

namespace offramp {
namespace {

// Short enough for a string's own room: cancelling allocates nothing.
Error cancelled_error() noexcept {
  return {.code = ErrorCode::cancelled, .what = "cancelled", .path = {}, .remedy = {}};
}

}  // namespace

Flow::Flow(Settings settings)
    : host_pool_(settings.host_slots),
      settings_(std::move(settings)),
      progress_(std::make_shared<Progress>()),
      coded_pool_(settings_.coded_slots),
      filled_(settings_.host_slots),
      coded_(settings_.coded_slots),
      coders_(settings_.coders),
      cancelled_(std::make_exception_ptr(DataError(cancelled_error()))) {
  OFFRAMP_EXPECTS(settings_.host_slots > 0, "a pipeline needs a host slot");
  OFFRAMP_EXPECTS(settings_.coded_slots > 0, "a pipeline needs a coded slot");
  OFFRAMP_EXPECTS(settings_.coders > 0, "a pipeline needs a thread that codes");
}

void Flow::start() {
  // One more than may code, for the one that writes.
  for (std::size_t thread = 0; thread < settings_.coders + 1; ++thread) {
    start_thread("offramp-flow", [this] { work(); });
  }
}

void Flow::start_thread(const char* name, std::function<void()> body) {
  threads_.reserve(threads_.size() + 1);
  {
    const std::lock_guard lock(mutex());
    ++live_;
  }
  try {
    threads_.emplace_back([self = shared_from_this(), name, run = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      run();
      const std::lock_guard lock(self->mutex());
      --self->live_;
      self->ended_.notify_all();
    });
  } catch (...) {
    const std::lock_guard lock(mutex());
    --live_;
    throw;
  }
}

std::size_t Flow::acquire() {
  std::unique_lock lock(mutex());
  wait_as_producer(lock, [&] { return !host_pool_.empty(); });
  return host_pool_.take();
}

void Flow::release(std::size_t slot) noexcept {
  const std::lock_guard lock(mutex());
  host_pool_.give(slot);
  slot_free_.notify_all();
}

void Flow::submit(std::size_t slot, std::uint64_t raw) {
  const std::lock_guard lock(mutex());
  try {
    expect_open();
  } catch (...) {
    host_pool_.give(slot);
    throw;
  }
  ++counters_.chunks_in;
  counters_.bytes_in += raw;
  mark_staged();
  push(slot);
}

void Flow::mark_staged(std::uint64_t fills) noexcept {
  progress_->staged += fills;
  progress_->moved.notify_all();
}

void Flow::push(std::size_t slot) noexcept {
  filled_.push(slot);
  ++submitted_;
  pass_work_on();
}

void Flow::expect_open(bool begun) const {
  if (failed()) std::rethrow_exception(progress_->exception);
  OFFRAMP_EXPECTS(begun || !closing_, "the pipeline is closed");
}

void Flow::wake_all() noexcept {
  progress_->moved.notify_all();
  slot_free_.notify_all();
  work_ready_.notify_all();
  upstream_moved_.notify_all();
}

void Flow::work() {
  std::unique_lock lock(mutex());
  while (true) {
    work_ready_.wait(
        lock, [&] { return failed() || finished_ || may_finish() || may_write() || may_code(); });
    if (failed() || finished_) return;
    if (may_write()) {
      write_next(lock);
    } else if (may_finish()) {
      finish_now(lock);
    } else {
      code_next(lock);
    }
  }
}

// A coded slot is taken together with the fill: the earliest fill always has one, so whoever
// writes, which frees them in order, is never stuck behind a later fill.
bool Flow::may_code() const noexcept {
  return !filled_.empty() && !coded_pool_.empty() && !coders_.empty();
}

bool Flow::may_write() const noexcept {
  return !writing_ && next_task().number == progress_->durable + 1;
}

bool Flow::may_finish() const noexcept {
  return closing_ && !writing_ && !finishing_ && upstream_ == 0 && progress_->durable == submitted_;
}

void Flow::pass_work_on() noexcept {
  if (may_write() || may_code()) work_ready_.notify_one();
}

void Flow::code_next(std::unique_lock<std::mutex>& lock) {
  Task task{.number = ++taken_, .slot = filled_.pop(), .coded = coded_pool_.take()};
  task.chunk = task.number;
  const std::size_t coder = coders_.take();
  pass_work_on();
  lock.unlock();
  const std::uint64_t start = Trace::now_ns();
  try {
    transform(task, coder);
  } catch (...) {
    fail_with_current(settings_.transform_name, task.number);
    lock.lock();
    return;
  }
  add_span(settings_.transform_name, static_cast<std::uint32_t>(2 + coder),
           {.chunk = task.chunk, .bytes = task.bytes, .start_ns = start});
  lock.lock();
  coders_.give(coder);
  if (!task.holds_slot) {
    host_pool_.give(task.slot);
    slot_free_.notify_all();
  }
  coded_[task.number % coded_.size()] = task;
}

const Flow::Task& Flow::next_task() const noexcept {
  return coded_[(progress_->durable + 1) % coded_.size()];
}

void Flow::write_next(std::unique_lock<std::mutex>& lock) {
  const Task task = next_task();
  writing_ = true;
  pass_work_on();
  lock.unlock();
  const std::uint64_t start = Trace::now_ns();
  Consumed consumed;
  try {
    consumed = consume(task);
  } catch (...) {
    fail_with_current(settings_.consume_name, task.number);
    lock.lock();
    return;
  }
  add_span(settings_.consume_name, static_cast<std::uint32_t>(2 + settings_.coders),
           {.chunk = task.chunk, .bytes = consumed.coded, .start_ns = start});
  lock.lock();
  counters_.chunks_out += consumed.chunks;
  counters_.bytes_done += consumed.raw;
  counters_.bytes_out += consumed.coded;
  counters_.parts_out += consumed.parts;
  counters_.parts_stored += consumed.stored;
  coded_pool_.give(task.coded);
  if (task.holds_slot) {
    host_pool_.give(task.slot);
    slot_free_.notify_all();
  }
  ++progress_->durable;
  progress_->moved.notify_all();
  if (settings_.on_progress) {
    const Counters now = snapshot();
    lock.unlock();
    try {
      settings_.on_progress(now);
    } catch (...) {
      fail_with_current("progress report", task.number);
    }
    lock.lock();
  }
  writing_ = false;
}

void Flow::finish_now(std::unique_lock<std::mutex>& lock) {
  const Counters now = snapshot();
  finishing_ = true;
  lock.unlock();
  bool done = false;
  const std::uint64_t start = Trace::now_ns();
  try {
    OFFRAMP_EXPECTS(now.chunks_in == now.chunks_out + now.chunks_dropped,
                    fmt::format("the pipeline lost chunks: {} in, {} out, {} dropped",
                                now.chunks_in, now.chunks_out, now.chunks_dropped));
    finish();
    done = true;
  } catch (...) {
    fail_with_current("finish", now.chunks_out);
  }
  add_span("finish", static_cast<std::uint32_t>(2 + settings_.coders),
           {.chunk = now.chunks_out, .bytes = 0, .start_ns = start});
  lock.lock();
  finished_ = done;
  wake_all();
}

bool Flow::close(std::optional<Ticket::Clock::time_point> deadline) {
  std::unique_lock lock(mutex());
  closing_ = true;
  wake_all();
  const auto over = [&] { return finished_ || failed(); };
  if (!deadline) {
    progress_->moved.wait(lock, over);
  } else if (!progress_->moved.wait_until(lock, *deadline, over)) {
    lock.unlock();
    cancel();
    return false;
  }
  if (failed()) std::rethrow_exception(progress_->exception);
  return true;
}

void Flow::cancel() noexcept {
  const std::lock_guard lock(mutex());
  if (finishing_) return;  // the sink has everything; what it makes of it is its word
  progress_->fail(cancelled_, cancelled_error());
  wake_all();
}

void Flow::end(std::chrono::milliseconds patience) noexcept {
  cancel();
  bool all = true;
  {
    std::unique_lock lock(mutex());
    const auto none_left = [&] { return live_ == 0; };
    if (patience == std::chrono::milliseconds::max()) {
      ended_.wait(lock, none_left);
    } else {
      all = ended_.wait_for(lock, patience, none_left);
    }
  }
  for (std::thread& thread : threads_) {
    if (all) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  threads_.clear();
}

void Flow::fail_with_current(std::string_view doing, std::uint64_t number) noexcept {
  auto cause = std::current_exception();
  Error why = describe(cause, doing, settings_.unit, number);
  const std::lock_guard lock(mutex());
  progress_->fail(std::move(cause), std::move(why));
  wake_all();
}

Counters Flow::snapshot() const noexcept {
  Counters now = counters_;
  now.host_slots = host_pool_.total();
  now.host_slots_peak = host_pool_.peak();
  now.coded_slots = coded_pool_.total();
  now.coded_slots_peak = coded_pool_.peak();
  add_to(now);
  return now;
}

Counters Flow::counters() const {
  const std::lock_guard lock(mutex());
  return snapshot();
}

void Flow::add_span(const char* stage, std::uint32_t thread, const SpanStart& span) const noexcept {
  if (!settings_.trace) return;
  settings_.trace->add({.stage = stage,
                        .thread = thread,
                        .chunk = span.chunk,
                        .bytes = span.bytes,
                        .start_ns = span.start_ns,
                        .end_ns = Trace::now_ns()});
}

}  // namespace offramp
