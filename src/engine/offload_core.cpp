// SPDX-License-Identifier: Apache-2.0
// What the offloader is made of, and its ends. The submit calls are in offload_submit.cpp, the
// threads between kernels and host slots in offload_link.cpp.
#include "engine/offload_core.hpp"

#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <offramp/device/device_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp {
namespace {

Codec make_store_codec() { return Codec::from_name("store").value(); }

StageId stage_of(const Codec& codec) {
  OFFRAMP_EXPECTS(codec.steps().size() == 1, "only a codec of one stage runs on a device");
  return codec.steps().front().stage;
}

// What a chunk of ordinary tensors may code to. Odd ones get a place of their own.
std::size_t usual_room(const Codec& codec, std::size_t chunk_size) {
  std::size_t most = 0;
  for (const DType dtype : {DType::bf16, DType::fp32, DType::u8}) {
    const std::uint64_t elems = chunk_size / size_of(dtype);
    for (const std::uint64_t channels : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{576}}) {
      const TensorDesc desc{.dtype = dtype, .shape = {elems / channels, channels}};
      most = std::max(most, codec.max_encoded_size(desc));
    }
  }
  return round_up(most, HostStore::alignment);
}

}  // namespace

void OffloadCore::Fill::clear() noexcept {
  count = 0;
  used = 0;
  raw = 0;
  keep_alive.reset();
  kept.reset();
}

OffloadCore::OffloadCore(OffloaderSettings settings, Codec codec, std::shared_ptr<RecordSink> sink,
                         MissingWait missing)
    : Flow({.host_slots = settings.host_slots,
            .coded_slots = settings.host_slots,
            .coders = settings.digest_threads,
            .transform_name = "digest",
            .consume_name = "write",
            .on_progress = settings.on_progress,
            .trace = settings.trace}),
      settings_(std::move(settings)),
      device_(settings_.device ? *settings_.device : host_device()),
      kernels_(device_codec(device_)),
      codec_(std::move(codec)),
      store_(make_store_codec()),
      stage_(stage_of(codec_)),
      raw_lane_(codec_ == store_),
      sink_(std::move(sink)),
      missing_(missing),
      slot_size_(settings_.chunks_per_launch * usual_room(codec_, settings_.chunk_size)),
      host_store_(sink_ ? nullptr : std::make_shared<HostStore>(device_, settings_.store_size)),
      host_slab_(device_, {.slots = sink_ ? settings_.host_slots : 0, .slot_size = slot_size_}),
      words_(device_,
             {.slots = settings_.device_slots, .slot_size = most_pieces * sizeof(std::uint64_t)}),
      encode_stream_(kernels_.make_stream(device_, settings_.priority)),
      copy_stream_(device_.make_stream()),
      slots_(settings_.device_slots),
      host_(settings_.host_slots),
      writing_(settings_.host_slots),
      device_pool_(settings_.device_slots),
      launched_(settings_.device_slots),
      landing_(settings_.host_slots) {
  OFFRAMP_EXPECTS(settings_.device_slots > 0, "an offloader needs a device slot");
  OFFRAMP_EXPECTS(settings_.chunks_per_launch > 0, "a launch needs a chunk");
  OFFRAMP_EXPECTS(settings_.chunk_size >= Pipeline::part_alignment,
                  "a chunk holds at least 64 bytes");
  if (!raw_lane_) {
    kernels_.load(device_, stage_);
    // Of the most chunks that a launch may have: locking memory later would stop the device.
    const std::vector<TensorDesc> most(most_pieces, {.dtype = DType::bf16, .shape = {1}});
    tables_ = HostSlab(device_, {.slots = settings_.device_slots,
                                 .slot_size = kernels_.has_kernels(stage_, DType::bf16)
                                                  ? kernels_.encode_scratch_size(stage_, most).host
                                                  : 0});
    ring_ = Buffer(encode_stream_, device_.memory(), slot_size_ * settings_.device_slots);
    // A chunk may code to a little more than itself: the ring is then that much larger.
    if (ring_.size() <= settings_.cache_bytes + settings_.cache_bytes / 8) {
      cached_ = kernels_.keep_in_cache(device_, encode_stream_, {ring_.data(), ring_.size()},
                                       settings_.cache_bytes);
    }
    const std::uint64_t rows = std::max<std::uint64_t>(1, settings_.chunk_size / 128);
    const std::vector<TensorDesc> usual(settings_.chunks_per_launch,
                                        {.dtype = DType::bf16, .shape = {rows, 64}});
    if (kernels_.has_kernels(stage_, DType::bf16)) {
      scratch_ = Buffer(encode_stream_, device_.memory(),
                        kernels_.encode_scratch_size(stage_, usual).device);
    }
  }
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    DeviceSlot& slot = slots_[at];
    if (!raw_lane_) {
      slot.room = {ring_.data() + at * slot_size_, slot_size_};
      slot.table = tables_.slot(at);
    }
    slot.sizes = {reinterpret_cast<std::uint64_t*>(words_.slot(at).data()), most_pieces};
    slot.source_ready = device_.make_event();
    slot.encoded = device_.make_event();
    slot.copied = device_.make_event();
    slot.fill.pieces.reserve(16);
  }
  for (HostSlot& slot : host_) slot.copied = device_.make_event();
}

void OffloadCore::start() {
  Flow::start();
  start_thread("offramp-link", [this] { link(); });
  start_thread("offramp-land", [this] { land(); });
}

RestoreLane& OffloadCore::lane() {
  const std::lock_guard lock(lane_mutex_);
  if (!lane_) {
    const Codec& coded = codec_;
    auto lane = std::make_shared<RestoreLane>(
        device_, RestoreLane::Settings{.slot_size = settings_.chunks_per_launch *
                                                    usual_room(coded, settings_.chunk_size),
                                       .slots = settings_.device_slots,
                                       .priority = settings_.priority,
                                       .rate = settings_.restore_rate});
    lane->start();
    lane_ = std::move(lane);
  }
  return *lane_;
}

std::size_t OffloadCore::device_memory() {
  std::size_t sum = 0;
  {
    const std::lock_guard lock(submit_mutex_);
    sum = ring_.size() + scratch_.size();
    for (const DeviceSlot& slot : slots_) sum += slot.own.size();
  }
  const std::lock_guard lock(lane_mutex_);
  return sum + (lane_ ? lane_->device_memory() : 0);
}

// Device memory is given back on the encoder's stream: behind what copies still read of it.
OffloadCore::~OffloadCore() {
  try {
    Event copied = device_.make_event();
    copied.record(copy_stream_);
    encode_stream_.ref().wait(copied);
  } catch (...) {  // the device has failed, and runs no copies
  }
}

void OffloadCore::end_all() noexcept {
  end(settings_.abandon_after);
  std::shared_ptr<RestoreLane> lane;
  {
    const std::lock_guard lock(lane_mutex_);
    lane = lane_;
  }
  if (lane) lane->end(settings_.abandon_after);
}

void OffloadCore::transform(Task& task, std::size_t) {
  Fill& fill = writing_[task.coded];
  std::swap(fill, host_[task.slot].fill);
  task.holds_slot = true;
  task.bytes = fill.raw;
  if (!sink_) return;
  for (Piece& piece : fill.all()) piece.digest = sink_->digest(piece.to);
}

Flow::Consumed OffloadCore::consume(const Task& task) {
  Fill& fill = writing_[task.coded];
  Consumed consumed{.raw = fill.raw,
                    .coded = 0,
                    .parts = fill.count,
                    .stored = 0,
                    .chunks = fill.ends_chunk ? 1u : 0u};
  for (const Piece& piece : fill.all()) {
    if (sink_) {
      sink_->write({.chunk = fill.chunk,
                    .what = {.name = piece.name, .tensor = piece.tensor, .part = piece.part},
                    .codec = piece.stored ? &store_ : &codec_,
                    .payload = piece.to,
                    .digest = piece.digest});
    }
    consumed.coded += piece.size;
    consumed.stored += piece.stored ? 1 : 0;
  }
  fill.clear();
  return consumed;
}

void OffloadCore::finish() {
  if (sink_) sink_->finish();
}

void OffloadCore::add_to(Counters& counters) const noexcept {
  counters.device_slots = device_pool_.total();
  counters.device_slots_peak = device_pool_.peak();
}

}  // namespace offramp
