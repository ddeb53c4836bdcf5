// SPDX-License-Identifier: Apache-2.0
#include "engine/pipeline_core.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace offramp {
namespace {

std::size_t thread_count(const PipelineSettings& settings) {
  if (settings.workers) return settings.workers->size();
  if (settings.threads > 0) return settings.threads;
  return std::max(1u, std::thread::hardware_concurrency());
}

std::size_t coder_count(const PipelineSettings& settings) {
  return std::clamp<std::size_t>(settings.coders, 1, thread_count(settings));
}

// The coders work in their loops themselves, so that coders and helpers together are `threads`.
std::shared_ptr<Workers> workers_for(const PipelineSettings& settings) {
  if (settings.workers) return settings.workers;
  return std::make_shared<Workers>(thread_count(settings) - coder_count(settings) + 1);
}

Codec store_codec() { return Codec::from_name("store").value(); }

// What the working buffers start with: ordinary tensors of one chunk. Odd ones grow them.
std::vector<TensorDesc> usual_descs(std::size_t chunk_size) {
  std::vector<TensorDesc> descs;
  for (const DType dtype : {DType::bf16, DType::fp32, DType::u8}) {
    const std::uint64_t elems = chunk_size / size_of(dtype);
    descs.push_back({.dtype = dtype, .shape = {elems}});
    for (const std::uint64_t channels : {64u, 576u}) {
      descs.push_back({.dtype = dtype, .shape = {elems / channels, channels}});
    }
  }
  return descs;
}

}  // namespace

void PipelineCore::Fill::clear() noexcept {
  count = 0;
  size = 0;
  keep_alive.reset();
}

PipelineCore::Fill::Fill() : pieces(8) {
  // Room for a few parts with usual names from the start, so that a slot's first use allocates
  // nothing either: the last of the slots may be used for the first time late.
  constexpr std::size_t usual_name = 128;
  for (Piece& piece : pieces) piece.name.reserve(usual_name);
}

PipelineCore::Piece& PipelineCore::Fill::add(const TensorPart& what) {
  if (count == pieces.size()) pieces.emplace_back();
  Piece& piece = pieces[count];
  piece.name.assign(what.name);
  piece.tensor = what.tensor;
  piece.part = what.part;
  piece.offset = round_up(size, Pipeline::part_alignment);
  size = piece.offset + what.part.desc.size();
  ++count;
  return piece;
}

PipelineCore::PipelineCore(PipelineSettings settings, Codec codec, std::shared_ptr<RecordSink> sink)
    : Flow({.host_slots = settings.host_slots,
            .coded_slots = settings.coded_slots,
            .coders = coder_count(settings),
            .transform_name = "encode",
            .consume_name = "write",
            .on_progress = settings.on_progress,
            .trace = settings.trace}),
      settings_(std::move(settings)),
      device_(settings_.device ? *settings_.device : host_device()),
      codec_(std::move(codec)),
      store_(store_codec()),
      stores_(codec_ == store_),
      sink_(std::move(sink)),
      workers_(workers_for(settings_)),
      host_slab_(device_, {.slots = settings_.host_slots, .slot_size = settings_.chunk_size}),
      copy_stream_(device_.make_stream()),
      host_stream_(has_device_slots() ? device_.make_stream() : Stream()),
      entries_(settings_.host_slots + settings_.device_slots),
      coded_fills_(settings_.coded_slots),
      coded_(settings_.coded_slots),
      scratch_(coder_count(settings_)),
      device_pool_(settings_.device_slots),
      staging_(entries_.size()) {
  OFFRAMP_EXPECTS(sink_, "a pipeline needs a sink");
  OFFRAMP_EXPECTS(settings_.chunk_size >= Pipeline::part_alignment,
                  "a chunk holds at least 64 bytes");
  for (std::size_t slot = 0; slot < settings_.device_slots; ++slot) {
    device_buffers_.emplace_back(copy_stream_, device_.memory(), settings_.chunk_size);
  }
  for (Entry& entry : entries_) {
    entry.source_ready = device_.make_event();
    entry.copied = device_.make_event();
  }
  if (stores_) return;
  std::size_t coded_size = 0;
  std::size_t scratch_size = 0;
  for (const TensorDesc& desc : usual_descs(settings_.chunk_size)) {
    coded_size = std::max(coded_size, codec_.max_encoded_size(desc));
    scratch_size = std::max(scratch_size, codec_.encode_scratch_size(desc, workers_->size()));
  }
  for (WorkBuffer& buffer : coded_) buffer.reserve(coded_size);
  for (WorkBuffer& buffer : scratch_) buffer.reserve(scratch_size);
}

void PipelineCore::start() {
  Flow::start();
  start_thread("offramp-copy", [this] { stage(); });
}

std::byte* PipelineCore::slot_data(std::size_t slot) const noexcept {
  return slot < host_slab_.slots() ? host_slab_.slot(slot).data()
                                   : device_buffers_[slot - host_slab_.slots()].data();
}

void PipelineCore::transform(Task& task, std::size_t coder) {
  Fill& fill = coded_fills_[task.coded];
  std::swap(fill, entries_[task.slot].fill);
  task.bytes = fill.size;
  std::byte* const slot = slot_data(task.slot);
  if (stores_) {
    task.holds_slot = true;
    for (Piece& piece : fill.used()) {
      piece.payload = {slot + piece.offset, piece.part.desc.size()};
      piece.stored = true;
      piece.digest = sink_->digest(piece.payload);
    }
    return;
  }
  // What was coded before never exceeds its original, so only the last needs its upper bound.
  std::size_t coded_size = 0;
  std::size_t scratch_size = 0;
  for (const Piece& piece : fill.used()) {
    const TensorDesc& desc = piece.part.desc;
    coded_size = std::max(coded_size, piece.offset + codec_.max_encoded_size(desc));
    scratch_size = std::max(scratch_size, codec_.encode_scratch_size(desc, workers_->size()));
  }
  const bool regrown_coded = coded_[task.coded].reserve(coded_size);
  const bool regrown_scratch = scratch_[coder].reserve(scratch_size);
  if (regrown_coded || regrown_scratch) {
    const std::lock_guard lock(mutex());
    counters_.regrown_buffers += std::uint64_t{regrown_coded} + std::uint64_t{regrown_scratch};
  }

  std::span<std::byte> out = coded_[task.coded].bytes();
  for (Piece& piece : fill.used()) {
    const TensorView view{.desc = piece.part.desc,
                          .bytes = {slot + piece.offset, piece.part.desc.size()}};
    const auto coded = codec_.encode(view, out, scratch_[coder].bytes(), *workers_);
    piece.payload = out.first(coded.size);
    piece.stored = coded.stored;
    piece.digest = sink_->digest(piece.payload);
    out = out.subspan(std::min(out.size(), round_up(coded.size, Pipeline::part_alignment)));
  }
}

Flow::Consumed PipelineCore::consume(const Task& task) {
  Fill& fill = coded_fills_[task.coded];
  Consumed consumed;
  for (const Piece& piece : fill.used()) {
    sink_->write({.chunk = fill.chunk,
                  .what = {.name = piece.name, .tensor = piece.tensor, .part = piece.part},
                  .codec = piece.stored ? &store_ : &codec_,
                  .payload = piece.payload,
                  .digest = piece.digest});
    consumed.raw += piece.part.desc.size();
    consumed.coded += piece.payload.size();
    consumed.parts += 1;
    consumed.stored += piece.stored ? 1 : 0;
  }
  consumed.chunks = fill.ends_chunk ? 1 : 0;
  fill.clear();
  return consumed;
}

void PipelineCore::finish() { sink_->finish(); }

void PipelineCore::add_to(Counters& counters) const noexcept {
  counters.device_slots = device_pool_.total();
  counters.device_slots_peak = device_pool_.peak();
}

}  // namespace offramp
