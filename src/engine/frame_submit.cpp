// SPDX-License-Identifier: Apache-2.0
// How frames get into the writer: submit calls, the thread that enqueues their conversions, and the
// thread that waits for these.
#include "core/checks.hpp"
#include "engine/await.hpp"
#include "engine/frame_core.hpp"
#include "engine/settle.hpp"

#include <offramp/core/error.hpp>
#include <offramp/frames/convert.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace offramp {
namespace {

std::uint64_t source_bytes(const FrameView& view, std::uint64_t frames) {
  return frames * view.height * view.width * view.channels * size_of(view.dtype);
}

}  // namespace

std::uint64_t FrameCore::fills_of(const Submit& submit) const noexcept {
  return (submit.view.frames - 1) / frames_per_slot_ + 1;
}

std::size_t FrameCore::frames_in(const Submit& submit, std::uint64_t fill) const noexcept {
  const std::uint64_t left = submit.view.frames - fill * frames_per_slot_;
  return static_cast<std::size_t>(std::min<std::uint64_t>(frames_per_slot_, left));
}

Ticket FrameCore::submit(StreamRef stream, const FrameView& frames,
                         std::shared_ptr<const void> keep_alive) {
  OFFRAMP_EXPECTS(&stream.driver() == &device_, "the stream belongs to another device");
  OFFRAMP_EXPECTS(frames.frames > 0, "a submit has at least one frame");
  OFFRAMP_EXPECTS(frames.data, "the frames are nowhere");
  expect_convertible(frames, format_);
  const bool pageable = device_.is_pageable(frames.data);
  OFFRAMP_EXPECTS(on_host_ || pageable ||
                      std::bit_cast<std::uintptr_t>(frames.data) % size_of(frames.dtype) == 0,
                  "values on a device begin at a multiple of their size");

  const auto at = begin_submit();
  if (!at) return Ticket(progress(), 0, true);
  Submit& submit = submits_[*at];
  submit.view = frames;
  submit.keep_alive = std::move(keep_alive);
  submit.pageable = pageable;
  submit.submitted_ns = Trace::now_ns();
  try {
    submit.ready.record(stream);
  } catch (...) {
    fail_with_current("submit", next_frame());
    submit.keep_alive.reset();
    const std::lock_guard lock(mutex());
    submit_pool_.give(*at);
    --upstream_;
    wake_all();
    throw;
  }
  return Ticket(progress(), queue(*at), false);
}

std::optional<std::size_t> FrameCore::begin_submit() {
  std::unique_lock lock(mutex());
  expect_open();
  if (settings_.overflow == Overflow::drop && submit_pool_.empty()) {
    ++counters_.chunks_in;
    ++counters_.chunks_dropped;
    return std::nullopt;
  }
  wait_as_producer(lock, [&] { return !submit_pool_.empty(); });
  ++upstream_;
  return submit_pool_.take();
}

// @returns the number of its last fill.
std::uint64_t FrameCore::queue(std::size_t at) {
  Submit& submit = submits_[at];
  const std::uint64_t fills = fills_of(submit);
  const std::lock_guard lock(mutex());
  submit.chunk = counters_.chunks_in++;
  submit.first_frame = std::exchange(next_frame_, next_frame_ + submit.view.frames);
  counters_.bytes_in += source_bytes(submit.view, submit.view.frames);
  accepted_ += fills;
  upstream_ += fills - 1;  // it counts for one since it began
  pending_.push({.at = at, .in_place = false});
  upstream_moved_.notify_all();
  return accepted_;
}

std::uint64_t FrameCore::next_frame() const noexcept {
  const std::lock_guard lock(mutex());
  return next_frame_;
}

std::size_t FrameCore::acquire_in_place() {
  // One host slot is left for submits: theirs may be ahead of all slots that are held, and then
  // nobody else would ever give one back.
  std::unique_lock lock(mutex());
  wait_as_producer(lock, [&] { return host_pool_.free() > 1; });
  return host_pool_.take();
}

Ticket FrameCore::submit_in_place(std::size_t slot, std::size_t frames) {
  try {
    OFFRAMP_EXPECTS(frames > 0, "a submit has at least one frame");
    OFFRAMP_EXPECTS(frames <= frames_per_slot_, "the slot has no room for so many frames");
    const std::lock_guard lock(mutex());
    expect_open();
    entries_[slot].fill = {.chunk = counters_.chunks_in++,
                           .first_frame = std::exchange(next_frame_, next_frame_ + frames),
                           .frames = frames,
                           .raw = frames * frame_size_,
                           .ends_chunk = true};
    counters_.bytes_in += frames * frame_size_;
    ++accepted_;
    if (upstream_ == 0) {
      mark_staged();
      push(slot);
    } else {
      ++upstream_;
      pending_.push({.at = slot, .in_place = true});
      upstream_moved_.notify_all();
    }
    return Ticket(progress(), accepted_, false);
  } catch (...) {
    release(slot);
    throw;
  }
}

// As long as a submit or a copy is under way, a source is in use: both threads end last of all.
bool FrameCore::upstream_over() const noexcept { return (failed() || closing_) && upstream_ == 0; }

void FrameCore::enqueue() {
  std::unique_lock lock(mutex());
  while (true) {
    upstream_moved_.wait(lock, [&] { return !pending_.empty() || upstream_over(); });
    if (pending_.empty()) return;
    const Pending next = pending_.pop();
    if (next.in_place) {
      staging_.push({.slot = next.at, .submit = 0, .in_place = true, .ends_submit = false});
      upstream_moved_.notify_all();
    } else {
      enqueue_submit(lock, next.at);
    }
  }
}

// The lock is held on entry and on return.
void FrameCore::enqueue_submit(std::unique_lock<std::mutex>& lock, std::size_t at) {
  const Submit& submit = submits_[at];
  const std::uint64_t fills = fills_of(submit);
  SlotPool& pool = has_device_slots() ? device_pool_ : host_pool_;
  for (std::uint64_t fill = 0; fill < fills; ++fill) {
    slot_free_.wait(lock, [&] { return failed() || !pool.empty(); });
    std::size_t slot = no_slot;
    bool begun = false;
    if (!failed()) {
      slot = pool.take() + (has_device_slots() ? host_slab_.slots() : 0);
      lock.unlock();
      begun = convert_into(slot, submit, fill);
      lock.lock();
    }
    if (!begun) {  // the writer has failed, and the slot is used no more
      staging_.push({.slot = no_slot,
                     .submit = at,
                     .in_place = false,
                     .ends_submit = true,
                     .fills = fills - fill});
      upstream_moved_.notify_all();
      return;
    }
    staging_.push(
        {.slot = slot, .submit = at, .in_place = false, .ends_submit = fill + 1 == fills});
    upstream_moved_.notify_all();
  }
}

// @returns false where that fails; then nothing that it began is under way any more.
bool FrameCore::convert_into(std::size_t slot, const Submit& submit, std::uint64_t fill) {
  Entry& entry = entries_[slot];
  const std::uint64_t first = fill * frames_per_slot_;
  const std::size_t frames = frames_in(submit, fill);
  entry.fill = {.chunk = submit.chunk,
                .first_frame = submit.first_frame + first,
                .frames = frames,
                .raw = source_bytes(submit.view, frames),
                .ends_chunk = first + frames == submit.view.frames};
  entry.enqueued_ns = Trace::now_ns();
  try {
    if (fill == 0) {
      // Of a GPU, this thread waits and not the stream: while a stream of it waits for an event,
      // each kernel of the producer begins about a microsecond later (docs/design/0010).
      if (on_host_) {
        convert_stream_.ref().wait(submit.ready);
      } else {
        wait_for(submit.ready);
      }
    }
    if (!submit.pageable) {
      convert_async(device_, convert_stream_, submit.view.slice(first, frames), format_,
                    slot_data(slot));
    }
    entry.converted.record(convert_stream_);
    return true;
  } catch (...) {
    fail_with_current("convert", entry.fill.first_frame);
    settle(convert_stream_);
    return false;
  }
}

void FrameCore::stage() {
  std::unique_lock lock(mutex());
  while (true) {
    upstream_moved_.wait(lock, [&] { return !staging_.empty() || upstream_over(); });
    if (staging_.empty()) return;
    const Staging next = staging_.pop();
    stage_one(lock, next);
    upstream_ -= next.fills;
    wake_all();
  }
}

// The lock is held on entry and on return.
void FrameCore::stage_one(std::unique_lock<std::mutex>& lock, const Staging& next) {
  if (next.in_place) {
    mark_staged();
    push(next.slot);
    return;
  }
  if (next.slot == no_slot) return mark_converted(lock, next);
  lock.unlock();
  wait_for_conversion(next);
  lock.lock();
  const bool pageable = submits_[next.submit].pageable;
  if (!pageable) mark_converted(lock, next);
  const std::size_t host = has_device_slots() ? take_host_slot(lock) : next.slot;
  if (host != no_slot && (pageable || has_device_slots())) {
    lock.unlock();
    if (pageable) {
      convert_on_host(host, next);
    } else {
      copy_to_host(host, next.slot);
    }
    lock.lock();
  }
  if (pageable) mark_converted(lock, next);
  if (has_device_slots()) device_pool_.give(next.slot - host_slab_.slots());
  if (host != no_slot) push(host);
}

void FrameCore::wait_for_conversion(const Staging& next) {
  Submit& submit = submits_[next.submit];
  const Entry& entry = entries_[next.slot];
  const Fill& fill = entry.fill;
  try {
    if (fill.first_frame == submit.first_frame) {
      wait_for(submit.ready);
      submit.ready_ns = Trace::now_ns();
      add_span("compute", static_cast<std::uint32_t>(3 + coders_count_),
               {.chunk = fill.chunk,
                .bytes = source_bytes(submit.view, submit.view.frames),
                .start_ns = std::max(submit.submitted_ns, last_ready_ns_)});
      last_ready_ns_ = submit.ready_ns;
    }
    wait_for(entry.converted);
  } catch (...) {
    fail_with_current("convert", fill.first_frame);
    settle(convert_stream_);
  }
  add_span("convert", static_cast<std::uint32_t>(4 + coders_count_),
           {.chunk = fill.chunk,
            .bytes = fill.raw,
            .start_ns = std::max({submit.ready_ns, entry.enqueued_ns, last_converted_ns_})});
  last_converted_ns_ = Trace::now_ns();
}

// Lets the source go behind its last frame, and only then says so. The lock is held on entry and on
// return, and not while what is let go frees what its owner likes.
void FrameCore::mark_converted(std::unique_lock<std::mutex>& lock, const Staging& next) {
  if (next.ends_submit) {
    lock.unlock();
    submits_[next.submit].keep_alive.reset();
    lock.lock();
    submit_pool_.give(next.submit);
    slot_free_.notify_all();
  }
  mark_staged(next.fills);
}

std::size_t FrameCore::take_host_slot(std::unique_lock<std::mutex>& lock) {
  slot_free_.wait(lock, [&] { return failed() || !host_pool_.empty(); });
  return failed() ? no_slot : host_pool_.take();
}

void FrameCore::copy_to_host(std::size_t host, std::size_t slot) {
  const Fill& fill = entries_[host].fill = entries_[slot].fill;
  const std::size_t size = fill.frames * frame_size_;
  const std::uint64_t start = Trace::now_ns();
  try {
    device_.copy_async(copy_stream_,
                       {.to = slot_data(host), .from = slot_data(slot), .size = size});
    copied_.record(copy_stream_);
    wait_for(copied_);
  } catch (...) {
    fail_with_current("copy", fill.first_frame);
    settle(copy_stream_);  // the device slot is freed behind other work than its copy
  }
  add_span("copy", 1, {.chunk = fill.chunk, .bytes = size, .start_ns = start});
}

// The device would crawl over such a source, or not reach it at all.
void FrameCore::convert_on_host(std::size_t host, const Staging& next) {
  const Submit& submit = submits_[next.submit];
  const Fill& fill = entries_[host].fill = entries_[next.slot].fill;
  const std::uint64_t start = Trace::now_ns();
  try {
    convert(submit.view.slice(fill.first_frame - submit.first_frame, fill.frames), format_,
            slot_data(host));
  } catch (...) {
    fail_with_current("convert", fill.first_frame);
  }
  add_span("copy", 1, {.chunk = fill.chunk, .bytes = fill.raw, .start_ns = start});
  const std::lock_guard lock(mutex());
  ++counters_.pageable_copies;
}

void FrameCore::wait_for(const Event& event) const {
  if (on_host_) return event.sync();  // to look again and again would keep its threads from working
  await(event);
}

}  // namespace offramp
