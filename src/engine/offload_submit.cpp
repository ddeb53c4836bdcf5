// SPDX-License-Identifier: Apache-2.0
// How chunks get into the offloader: parts are gathered into launches.
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "engine/offload_core.hpp"
#include "engine/part_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp {

void OffloadCore::check(const ChunkTensor& tensor) const {
  expect_sound(tensor.what);
  OFFRAMP_EXPECTS(raw_lane_ || kernels_.has_kernels(stage_, tensor.what.tensor.dtype),
                  "the device has no kernels for that codec and dtype: ask "
                  "Offloader::check_supported first");
}

std::size_t OffloadCore::room_for(const TensorDesc& desc) const {
  if (raw_lane_ || desc.size() == 0) return desc.size();
  return codec_.max_encoded_size(desc);
}

Result<std::shared_ptr<KeptChunk>> OffloadCore::make_room(const Chunk& chunk) {
  auto kept = std::make_shared<KeptChunk>();
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
  for (const ChunkTensor& tensor : chunk.tensors) {
    check(tensor);
    const TensorDesc& desc = tensor.what.part.desc;
    const PartPlan plan(desc, settings_.chunk_size);
    for (std::uint64_t at = 0; at < plan.count(); ++at) {
      const Part part = plan[at];
      kept->parts.push_back({.desc = part.desc,
                             .tensor = kept->tensors,
                             .offset = part.first_elem * size_of(desc.dtype),
                             .blocks = {},
                             .stored = false});
      sizes.push_back(part.desc.size());
      total += part.desc.size();
    }
    ++kept->tensors;
  }
  // Nothing is under way that could give room back.
  const auto idle = [this] { return upstream_ == 0 && progress()->durable == accepted_; };
  std::unique_lock lock(mutex());
  while (true) {
    expect_open();
    const bool is_idle = idle();
    const std::uint64_t seen = shrunk_;
    lock.unlock();
    if (auto room = host_store_->try_reserve(sizes)) {
      kept->room = std::move(*room);
      kept->stored_size = total;
      return kept;
    }
    if (is_idle || total > host_store_->size()) {
      return Error{.code = ErrorCode::limit_exceeded,
                   .what = fmt::format("the store has no room for {} bytes: {} of its {} are free",
                                       total, host_store_->free(), host_store_->size()),
                   .path = {},
                   .remedy = "drop what is kept, or make store_size larger"};
    }
    lock.lock();
    slot_free_.wait(lock, [&] { return failed() || closing_ || idle() || shrunk_ != seen; });
  }
}

Ticket OffloadCore::submit(StreamRef producer, const Chunk& chunk,
                           std::shared_ptr<KeptChunk> kept) {
  OFFRAMP_EXPECTS(!chunk.tensors.empty(), "a chunk has at least one tensor");
  OFFRAMP_EXPECTS(&producer.driver() == &device_, "the stream belongs to another device");
  for (const ChunkTensor& tensor : chunk.tensors) check(tensor);

  const std::lock_guard one_at_a_time(submit_mutex_);
  const auto begun = begin_chunk();
  if (!begun) return Ticket(progress(), 0, true);
  std::size_t slot = *begun;
  std::size_t number = 0;  // of the part
  try {
    open(slot, producer, chunk, kept);
    for (const ChunkTensor& tensor : chunk.tensors) {
      const PartPlan plan(tensor.what.part.desc, settings_.chunk_size);
      for (std::uint64_t at = 0; at < plan.count(); ++at) {
        const Part part = plan[at];
        const std::size_t need = room_for(part.desc);
        if (!has_room(slots_[slot], need)) {
          const std::uint64_t chunk_number = slots_[slot].fill.chunk;
          launch(slot);
          pass_on(std::exchange(slot, no_slot), false);
          slot = next_slot(chunk_number);
          open(slot, producer, chunk, kept);
        }
        add(slot, tensor, part, need, kept ? &kept->parts[number] : nullptr);
        ++number;
      }
    }
    launch(slot);
  } catch (...) {
    // Kernels may be under way: the slot goes to the thread that waits for them. A chunk of which
    // only a part got in fails the offloader.
    fail_with_current("submit", slot == no_slot ? 0 : slots_[slot].fill.chunk);
    if (slot != no_slot) pass_on(slot, true);
    end_submit();
    throw;
  }
  const std::uint64_t end = pass_on(slot, true);
  end_submit();
  return Ticket(progress(), end, false);
}

std::optional<std::size_t> OffloadCore::begin_chunk() {
  std::unique_lock lock(mutex());
  expect_open();
  if (settings_.overflow == Overflow::drop && device_pool_.empty()) {
    ++counters_.chunks_in;
    ++counters_.chunks_dropped;
    return std::nullopt;
  }
  wait_as_producer(lock, [&] { return !device_pool_.empty(); });
  ++counters_.chunks_in;
  ++upstream_;
  const std::size_t slot = device_pool_.take();
  slots_[slot].fill.chunk = counters_.chunks_in - 1;
  return slot;
}

std::size_t OffloadCore::next_slot(std::uint64_t chunk) {
  std::unique_lock lock(mutex());
  wait_as_producer(
      lock, [&] { return !device_pool_.empty(); }, true);
  const std::size_t slot = device_pool_.take();
  slots_[slot].fill.chunk = chunk;
  return slot;
}

void OffloadCore::open(std::size_t number, StreamRef producer, const Chunk& chunk,
                       const std::shared_ptr<KeptChunk>& kept) {
  DeviceSlot& slot = slots_[number];
  slot.fill.clear();
  slot.fill.keep_alive = chunk.keep_alive;
  slot.fill.kept = kept;
  slot.chunks.clear();
  slot.descs.clear();
  slot.source_ready.record(producer);
  encode_stream_.ref().wait(slot.source_ready);
  if (missing_ != MissingWait::slot) encode_stream_.ref().wait(slot.copied);
}

bool OffloadCore::has_room(const DeviceSlot& slot, std::size_t need) const noexcept {
  if (slot.fill.count == 0) return true;
  if (slot.fill.count == most_pieces) return false;
  return need <= slot_size_ && round_up(slot.fill.used, HostStore::alignment) <= slot_size_ - need;
}

void OffloadCore::add(std::size_t number, const ChunkTensor& from, const Part& part,
                      std::size_t need, KeptPart* kept) {
  DeviceSlot& slot = slots_[number];
  Fill& fill = slot.fill;
  if (!raw_lane_ && need > std::max(slot_size_, slot.own.size())) {
    // The stream has waited for the slot's last copy: what it held may go.
    slot.own = {};
    slot.own = Buffer(encode_stream_, device_.memory(), need);
  }
  if (fill.count == fill.pieces.size()) fill.pieces.emplace_back();
  Piece& piece = fill.pieces[fill.count];
  const std::size_t size = part.desc.size();
  const std::size_t elem = size_of(from.what.tensor.dtype);
  piece.name.assign(from.what.name);
  piece.tensor = from.what.tensor;
  piece.part = {.first_elem = from.what.part.first_elem + part.first_elem, .desc = part.desc};
  piece.source = from.data + part.first_elem * elem;
  piece.offset = round_up(fill.used, HostStore::alignment);
  piece.coded = !raw_lane_ && size != 0;
  piece.stored = !piece.coded;
  piece.size = size;
  piece.to = {};
  piece.kept = kept;
  piece.digest = 0;
  fill.used = piece.offset + need;
  fill.raw += size;
  ++fill.count;
  if (!piece.coded) return;
  std::byte* const room = slot.own.size() > 0 ? slot.own.data() : slot.room.data();
  piece.word = slot.chunks.size();
  slot.chunks.push_back({.desc = part.desc,
                         .in = piece.source,
                         .out = room + piece.offset,
                         .size = &slot.sizes[piece.word]});
  slot.descs.push_back(part.desc);
}

void OffloadCore::launch(std::size_t number) {
  DeviceSlot& slot = slots_[number];
  if (!slot.chunks.empty()) {
    const ScratchSize need = kernels_.encode_scratch_size(stage_, slot.descs);
    if (scratch_.size() < need.device) {
      scratch_ = {};
      scratch_ = Buffer(encode_stream_, device_.memory(), need.device);
    }
    kernels_.encode_async(
        encode_stream_, stage_, slot.chunks,
        {.device = {scratch_.data(), scratch_.size()}, .host = slot.table.first(need.host)});
  }
  slot.encoded.record(encode_stream_);
}

std::uint64_t OffloadCore::pass_on(std::size_t slot, bool ends_chunk) noexcept {
  Fill& fill = slots_[slot].fill;
  fill.ends_chunk = ends_chunk;
  const std::lock_guard lock(mutex());
  counters_.bytes_in += fill.raw;
  launched_.push(slot);
  ++upstream_;
  upstream_moved_.notify_all();
  return ++accepted_;
}

void OffloadCore::end_submit() noexcept {
  const std::lock_guard lock(mutex());
  --upstream_;
  wake_all();
}

}  // namespace offramp
