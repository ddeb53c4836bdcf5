// SPDX-License-Identifier: Apache-2.0
// From the kernels to the host slots: a thread that learns the sizes and enqueues copies of exactly
// that many bytes, and one that waits for these. A device slot is free again as soon as its copy is
// enqueued: the next launch waits for it on the device.
#include "core/bytes.hpp"
#include "engine/await.hpp"
#include "engine/offload_core.hpp"

#include <offramp/core/error.hpp>

#include <atomic>
#include <exception>
#include <utility>

namespace offramp {

void OffloadCore::link() {
  std::unique_lock lock(mutex());
  while (true) {
    // As long as a submit or a launch is under way, a source is in use.
    upstream_moved_.wait(
        lock, [&] { return !launched_.empty() || ((failed() || closing_) && upstream_ == 0); });
    if (launched_.empty()) return;
    link_one(lock, launched_.pop());
  }
}

void OffloadCore::link_one(std::unique_lock<std::mutex>& lock, std::size_t slot) {
  DeviceSlot& from = slots_[slot];
  const bool was_failed = failed();
  lock.unlock();
  const std::uint64_t start = Trace::now_ns();
  bool is_copied_raw = raw_lane_;  // until more is known
  try {
    // After a failed submit the event may not have been recorded.
    if (was_failed) {
      encode_stream_.ref().sync();
    } else {
      if (!raw_lane_) await(from.encoded);
      is_copied_raw = settle(from);
    }
  } catch (...) {
    fail_with_current("encode", from.fill.chunk);
  }
  add_span("encode", 1, {.chunk = from.fill.chunk, .bytes = from.fill.raw, .start_ns = start});
  // Outside the lock: what it frees is the producer's.
  if (!is_copied_raw) from.fill.keep_alive.reset();
  lock.lock();
  ++shrunk_;
  slot_free_.notify_all();
  // Launches are staged in order: behind one whose sources are still in use, this one waits as
  // well.
  const bool is_staged = !is_copied_raw && unstaged_ == 0;
  if (is_staged) mark_staged();
  slot_free_.wait(lock, [&] { return failed() || !host_pool_.empty(); });
  if (failed()) {
    lock.unlock();
    from.fill.keep_alive.reset();
    from.fill.kept.reset();
    lock.lock();
    slot_free_.wait(lock, [&] { return unstaged_ == 0; });
    if (!is_staged) mark_staged();
    device_pool_.give(slot);
    --upstream_;
    wake_all();
    return;
  }
  const std::size_t host = host_pool_.take();
  lock.unlock();
  HostSlot& to = host_[host];
  try {
    copy_out(from, host);
  } catch (...) {
    fail_with_current("copy", from.fill.chunk);
  }
  std::swap(to.fill, from.fill);
  lock.lock();
  device_pool_.give(slot);
  slot_free_.notify_all();
  to.is_staged = is_staged;
  unstaged_ += is_staged ? 0 : 1;
  landing_.push(host);
  upstream_moved_.notify_all();
}

// Takes in the sizes. @returns whether a source is still needed.
bool OffloadCore::settle(DeviceSlot& slot) {
  bool any = false;
  const double most = sink_ ? 1.0 : settings_.raw_above;
  for (Piece& piece : slot.fill.all()) {
    const std::size_t raw = piece.size;
    if (piece.coded) {
      // Written once, by the device: not a value that the compiler can know.
      const std::size_t size =
          std::atomic_ref(slot.sizes[piece.word]).load(std::memory_order_relaxed);
      piece.stored = size >= raw || static_cast<double>(size) > most * static_cast<double>(raw);
      if (!piece.stored) piece.size = size;
    }
    any = any || (piece.stored && raw > 0);
    if (piece.kept) {
      KeptChunk& kept = *slot.fill.kept;
      piece.kept->stored = piece.stored;
      piece.kept->blocks = kept.room.take(piece.size, raw);
      kept.stored_size -= raw - piece.size;
    }
  }
  return any;
}

void OffloadCore::copy_out(DeviceSlot& from, std::size_t host) {
  const std::uint64_t start = Trace::now_ns();
  copies_.clear();
  std::size_t used = 0;
  const std::byte* const room = from.own.size() > 0 ? from.own.data() : from.room.data();
  for (Piece& piece : from.fill.all()) {
    const std::byte* source = piece.stored ? piece.source : room + piece.offset;
    const auto copy_to = [&](std::span<std::byte> to) {
      copies_.push_back({.to = to.data(), .from = source, .size = to.size()});
      source += to.size();
    };
    if (piece.kept) {
      for (const HostStore::Block& block : piece.kept->blocks) copy_to(block.bytes());
    } else {
      piece.to = host_slab_.slot(host).subspan(used, piece.size);
      used = round_up(used + piece.size, Pipeline::part_alignment);
      copy_to(piece.to);
    }
  }
  if (raw_lane_) copy_stream_.ref().wait(from.source_ready);
  device_.copy_batch_async(copy_stream_, copies_);
  from.copied.record(copy_stream_);
  host_[host].copied.record(copy_stream_);
  add_span("copy", 1, {.chunk = from.fill.chunk, .bytes = from.fill.raw, .start_ns = start});
}

void OffloadCore::land() {
  std::unique_lock lock(mutex());
  while (true) {
    upstream_moved_.wait(
        lock, [&] { return !landing_.empty() || ((failed() || closing_) && upstream_ == 0); });
    if (landing_.empty()) return;
    const std::size_t host = landing_.pop();
    HostSlot& slot = host_[host];
    const bool was_failed = failed();
    lock.unlock();
    try {
      if (was_failed) {
        copy_stream_.ref().sync();
      } else if (missing_ != MissingWait::landing) {
        await(slot.copied);
      }
    } catch (...) {
      fail_with_current("copy", slot.fill.chunk);
    }
    slot.fill.keep_alive.reset();
    lock.lock();
    if (!slot.is_staged) {
      mark_staged();
      --unstaged_;
    }
    push(host);
    --upstream_;
    wake_all();
  }
}

}  // namespace offramp
