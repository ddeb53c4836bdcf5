// SPDX-License-Identifier: Apache-2.0
// How chunks get into the pipeline: submit calls, and the thread that waits for their copies.
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "engine/part_checks.hpp"
#include "engine/pipeline_core.hpp"
#include "engine/settle.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace offramp {

Ticket PipelineCore::submit(StreamRef stream, const Chunk& chunk) {
  OFFRAMP_EXPECTS(!chunk.tensors.empty(), "a chunk has at least one tensor");
  OFFRAMP_EXPECTS(&stream.driver() == &device_, "the stream belongs to another device");
  for (const ChunkTensor& tensor : chunk.tensors) expect_sound(tensor.what);

  const auto begun = begin_chunk();
  if (!begun) return Ticket(progress(), 0, true);
  std::size_t slot = *begun;
  try {
    open_fill(slot, stream, chunk);
    for (const ChunkTensor& tensor : chunk.tensors) {
      const PartPlan plan(tensor.what.part.desc, settings_.chunk_size);
      for (std::uint64_t part = 0; part < plan.count(); ++part) {
        add_part(slot, stream, chunk, tensor, plan[part]);
      }
    }
    const std::uint64_t end = close_fill(slot, true);
    end_submit();
    return Ticket(progress(), end, false);
  } catch (...) {
    // Copies may be under way: the slot goes to the thread that waits for them. A chunk of which
    // only a part got in fails the pipeline.
    fail_with_current("submit", accepted_chunks());
    try {
      if (slot != no_slot) close_fill(slot, true);
    } catch (...) {
      // A device that has failed records no event either. The slot stays where it is, and nobody
      // waits for its copies, so they end here, while their source is still there.
      settle(copy_stream_);
    }
    end_submit();
    throw;
  }
}

std::optional<std::size_t> PipelineCore::begin_chunk() {
  std::unique_lock lock(mutex());
  SlotPool& pool = entry_pool();
  expect_open();
  if (settings_.overflow == Overflow::drop && pool.empty()) {
    ++counters_.chunks_in;
    ++counters_.chunks_dropped;
    return std::nullopt;
  }
  wait_as_producer(lock, [&] { return !pool.empty(); });
  ++counters_.chunks_in;
  ++upstream_;
  const std::size_t slot = pool.take() + first_entry();
  entries_[slot].fill.chunk = counters_.chunks_in - 1;
  return slot;
}

void PipelineCore::open_fill(std::size_t slot, StreamRef stream, const Chunk& chunk) {
  Entry& entry = entries_[slot];
  entry.fill.clear();
  entry.fill.keep_alive = chunk.keep_alive;
  entry.source_ready.record(stream);
  copy_stream_.ref().wait(entry.source_ready);
}

void PipelineCore::add_part(std::size_t& slot, StreamRef stream, const Chunk& chunk,
                            const ChunkTensor& from, const Part& part) {
  const std::size_t size = part.desc.size();
  const std::size_t used = entries_[slot].fill.size;
  if (used > 0 && round_up(used, Pipeline::part_alignment) + size > settings_.chunk_size) {
    const std::uint64_t number = entries_[slot].fill.chunk;
    close_fill(std::exchange(slot, no_slot), false);
    {
      std::unique_lock lock(mutex());
      SlotPool& pool = entry_pool();
      wait_as_producer(
          lock, [&] { return !pool.empty(); }, true);
      slot = pool.take() + first_entry();
      entries_[slot].fill.chunk = number;
    }
    open_fill(slot, stream, chunk);
  }
  Fill& fill = entries_[slot].fill;
  const Part of_tensor{.first_elem = from.what.part.first_elem + part.first_elem,
                       .desc = part.desc};
  const Piece& piece =
      fill.add({.name = from.what.name, .tensor = from.what.tensor, .part = of_tensor});
  const std::byte* const source = from.data + part.first_elem * size_of(from.what.tensor.dtype);
  if (size == 0) return;
  device_.copy_async(copy_stream_,
                     {.to = slot_data(slot) + piece.offset, .from = source, .size = size});
  if (device_.is_pageable(source)) {
    const std::lock_guard lock(mutex());
    ++counters_.pageable_copies;
  }
}

std::uint64_t PipelineCore::close_fill(std::size_t slot, bool ends_chunk) {
  Entry& entry = entries_[slot];
  entry.fill.ends_chunk = ends_chunk;
  entry.copied.record(copy_stream_);
  const std::lock_guard lock(mutex());
  for (const Piece& piece : entry.fill.used()) counters_.bytes_in += piece.part.desc.size();
  staging_.push({.slot = slot, .in_place = false});
  ++upstream_;
  upstream_moved_.notify_all();
  return ++accepted_;
}

void PipelineCore::end_submit() noexcept {
  const std::lock_guard lock(mutex());
  --upstream_;
  wake_all();
}

std::uint64_t PipelineCore::accepted_chunks() const noexcept {
  const std::lock_guard lock(mutex());
  return counters_.chunks_in;
}

std::size_t PipelineCore::acquire_in_place() {
  OFFRAMP_EXPECTS(!has_device_slots(),
                  "slots are filled in place only in a pipeline without device slots");
  return acquire();
}

Ticket PipelineCore::submit_in_place(std::size_t slot, std::span<const TensorPart> parts) {
  Fill& fill = entries_[slot].fill;
  try {
    OFFRAMP_EXPECTS(!parts.empty(), "a chunk has at least one tensor");
    fill.clear();
    std::uint64_t raw = 0;
    for (const TensorPart& part : parts) {
      expect_sound(part);
      raw += fill.add(part).part.desc.size();
      OFFRAMP_EXPECTS(fill.size <= settings_.chunk_size, "the parts do not fit the slot");
    }
    fill.ends_chunk = true;
    const std::lock_guard lock(mutex());
    expect_open();
    fill.chunk = counters_.chunks_in++;
    counters_.bytes_in += raw;
    ++accepted_;
    if (staging_.empty() && !staging_busy_) {
      mark_staged();
      push(slot);
    } else {
      ++upstream_;
      staging_.push({.slot = slot, .in_place = true});
    }
    return Ticket(progress(), accepted_, false);
  } catch (...) {
    release(slot);
    throw;
  }
}

void PipelineCore::stage() {
  std::unique_lock lock(mutex());
  while (true) {
    // It ends last of all: as long as a submit or a copy is under way, a source is in use.
    upstream_moved_.wait(
        lock, [&] { return !staging_.empty() || ((failed() || closing_) && upstream_ == 0); });
    if (staging_.empty()) return;
    staging_busy_ = true;
    stage_one(lock, staging_.pop());
    staging_busy_ = false;
    --upstream_;
    wake_all();
  }
}

void PipelineCore::stage_one(std::unique_lock<std::mutex>& lock, Staging next) {
  std::size_t slot = next.slot;
  if (!next.in_place) {
    Entry& entry = entries_[slot];
    lock.unlock();
    const std::uint64_t start = Trace::now_ns();
    try {
      entry.copied.sync();
    } catch (...) {
      fail_with_current("copy", entry.fill.chunk);
    }
    add_span("copy", 1, {.chunk = entry.fill.chunk, .bytes = entry.fill.size, .start_ns = start});
    // Outside the lock: what it frees is the producer's.
    entry.fill.keep_alive.reset();
    lock.lock();
  }
  mark_staged();
  if (has_device_slots()) slot = to_host(lock, slot);
  if (slot != no_slot) push(slot);
}

// Moves a device slot's fill to a host slot. The lock is held on entry and on return.
std::size_t PipelineCore::to_host(std::unique_lock<std::mutex>& lock, std::size_t slot) {
  slot_free_.wait(lock, [&] { return failed() || !host_pool_.empty(); });
  if (failed()) return no_slot;
  const std::size_t host = host_pool_.take();
  lock.unlock();
  const std::uint64_t start = Trace::now_ns();
  Fill& fill = entries_[host].fill;
  std::swap(fill, entries_[slot].fill);
  try {
    device_.copy_async(host_stream_,
                       {.to = slot_data(host), .from = slot_data(slot), .size = fill.size});
    entries_[host].copied.record(host_stream_);
    entries_[host].copied.sync();
  } catch (...) {
    fail_with_current("copy", fill.chunk);
    settle(
        host_stream_);  // the copy may be under way, and the device slots are freed behind others
  }
  add_span("copy", 1, {.chunk = fill.chunk, .bytes = fill.size, .start_ns = start});
  lock.lock();
  device_pool_.give(slot - host_slab_.slots());
  slot_free_.notify_all();
  return host;
}

}  // namespace offramp
