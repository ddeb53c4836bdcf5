// SPDX-License-Identifier: Apache-2.0
// unpack and verify: one flow, with a sink or without.
#include "core/checks.hpp"
#include "engine/archive_checks.hpp"
#include "engine/flow.hpp"
#include "engine/job.hpp"
#include "engine/restore_lane.hpp"
#include "engine/work_buffer.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/device/device_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace offramp {
namespace {

struct Layout {
  std::size_t host_slots{};
  std::size_t coded_slots{};
  std::size_t slot_size{};   // the largest payload
  std::size_t coded_size{};  // the largest part
};

// An archive by another hand may have parts far larger than a chunk: then there are fewer slots.
Layout layout_for(const ArchiveReader& reader, const JobSettings& settings) {
  const auto or_usual = [](std::size_t slots, std::size_t usual) { return slots ? slots : usual; };
  Layout layout{.host_slots = or_usual(settings.host_slots, usual_host_slots),
                .coded_slots = or_usual(settings.coded_slots, usual_coded_slots),
                .slot_size = static_cast<std::size_t>(reader.max_payload_size()),
                .coded_size = static_cast<std::size_t>(reader.max_raw_size())};
  const auto fit = [&](std::size_t slots, std::size_t size) {
    const std::size_t room = slots * std::max<std::size_t>(settings.chunk_size, 1);
    return size == 0 ? slots
                     : std::clamp<std::size_t>(room / size, std::min<std::size_t>(slots, 2), slots);
  };
  layout.host_slots = fit(layout.host_slots, layout.slot_size);
  layout.coded_slots = fit(layout.coded_slots, layout.coded_size);
  return layout;
}

std::size_t thread_count(const JobSettings& settings) {
  if (settings.workers) return settings.workers->size();
  return settings.threads > 0 ? settings.threads
                              : std::max(1u, std::thread::hardware_concurrency());
}

bool on_device(const JobSettings& settings) {
  return settings.device && settings.device != &host_device();
}

Device& device_of(const JobSettings& settings) {
  return on_device(settings) ? *settings.device : host_device();
}

// On a device they only wait, each for a part of its own: one copied in, one out, one decoded.
std::size_t coder_count(const JobSettings& settings) {
  return on_device(settings) ? 3 : std::min<std::size_t>(2, thread_count(settings));
}

// Decodes parts on a device, from host slots to host slots.
class DeviceDecoder {
 public:
  DeviceDecoder(Device& device, const ArchiveReader& reader, std::size_t coders)
      : device_(&device),
        lane_(std::make_shared<RestoreLane>(
            device, RestoreLane::Settings{.slot_size = static_cast<std::size_t>(std::max(
                                              reader.max_payload_size(), reader.max_raw_size())),
                                          .slots = coders,
                                          .stage = StageId::store,
                                          .priority = 0,
                                          .rate = 0})),
        places_(coders) {
    for (Place& place : places_) {
      place.stream = device.make_stream();
      place.out =
          Buffer(place.stream, device.memory(), static_cast<std::size_t>(reader.max_raw_size()));
    }
    lane_->start();
  }
  ~DeviceDecoder() { lane_->end(std::chrono::milliseconds::max()); }
  DeviceDecoder(const DeviceDecoder&) = delete;
  DeviceDecoder& operator=(const DeviceDecoder&) = delete;

  /// `out` may be empty: then nothing is copied back. Each coder has one call at a time.
  Result<void> decode(std::size_t coder, CodedChunk chunk, std::span<std::byte> out) {
    Place& place = places_[coder];
    chunk.out = place.out.data();
    const CodedPieces pieces(chunk);
    const auto state = lane_->restore(place.stream, {&pieces, 1}, {});
    OFFRAMP_TRY_VOID(state->wait());
    device_->copy_async(place.stream, {.to = out.data(), .from = chunk.out, .size = out.size()});
    place.stream.ref().sync();
    return {};
  }

 private:
  struct Place {
    Stream stream;
    Buffer out;
  };

  Device* device_;
  std::shared_ptr<RestoreLane> lane_;
  std::vector<Place> places_;
};

class RestoreFlow final : public Flow {
 public:
  RestoreFlow(const ArchiveReader& reader, const Selection& selection, TensorSink* sink,
              const JobSettings& settings)
      : RestoreFlow(reader, selection, sink, settings, layout_for(reader, settings)) {}

  void read_all() {
    for (std::size_t number = 0; number < selection_->tensors.size(); ++number) {
      const ArchiveTensor& tensor = *selection_->tensors[number];
      for (const ArchivePart& part : tensor.parts) {
        const std::size_t slot = acquire();
        read(slot, {.number = number, .tensor = &tensor, .part = &part, .bytes = {}});
        submit(slot, part.raw_size);
      }
    }
  }

 private:
  RestoreFlow(const ArchiveReader& reader, const Selection& selection, TensorSink* sink,
              const JobSettings& settings, const Layout& layout)
      : Flow({.host_slots = layout.host_slots,
              .coded_slots = layout.coded_slots,
              .coders = coder_count(settings),
              .transform_name = "decode",
              .consume_name = sink ? "write" : "check",
              .on_progress = progress_for(settings, selection.size),
              .trace = settings.trace}),
        reader_(&reader),
        selection_(&selection),
        sink_(sink),
        workers_(settings.workers ? settings.workers
                                  : std::make_shared<Workers>(thread_count(settings) -
                                                              coder_count(settings) + 1)),
        slab_(device_of(settings), {.slots = layout.host_slots, .slot_size = layout.slot_size}),
        fills_(layout.host_slots),
        results_(layout.coded_slots),
        coded_(layout.coded_slots),
        scratch_(coder_count(settings)) {
    if (on_device(settings)) {
      decoder_ = std::make_unique<DeviceDecoder>(*settings.device, reader, scratch_.size());
      device_out_ =
          HostSlab(*settings.device, {.slots = layout.coded_slots, .slot_size = layout.coded_size});
    } else {
      for (WorkBuffer& buffer : coded_) buffer.reserve(layout.coded_size);
    }
    for (const ArchiveTensor* tensor : selection.tensors) {
      for (const ArchivePart& part : tensor->parts) {
        if (codecs_.contains(part.chain)) continue;
        auto codec = codec_of(reader, part);
        if (!codec) throw DataError(std::move(codec).error());
        codecs_.emplace(part.chain, std::move(*codec));
      }
    }
  }

  struct Fill {
    std::size_t number{};
    const ArchiveTensor* tensor{};
    const ArchivePart* part{};
    std::span<const std::byte> bytes{};  // first the payload, then the part
  };

  void read(std::size_t slot, Fill fill) {
    const std::uint64_t start = Trace::now_ns();
    const auto payload = slab_.slot(slot).first(static_cast<std::size_t>(fill.part->payload_size));
    try {
      reader_->read_payload(*fill.tensor, *fill.part, payload).value();
    } catch (...) {
      release(slot);
      throw;
    }
    add_span("read", 0, {.chunk = ++read_, .bytes = payload.size(), .start_ns = start});
    fill.bytes = payload;
    fills_[slot] = fill;
  }

  void transform(Task& task, std::size_t coder) override {
    const Fill& fill = fills_[task.slot];
    const Codec& codec = codecs_.at(fill.part->chain);
    const TensorDesc desc{.dtype = fill.tensor->desc.dtype, .shape = fill.part->shape};
    results_[task.coded] = fill;
    task.bytes = desc.size();
    if (codec == store_ && fill.bytes.size() == desc.size()) {
      task.holds_slot = true;  // the payload is the part
      return;
    }
    if (decoder_ && desc.size() != 0) {
      const auto out = device_out_.slot(task.coded).first(desc.size());
      const auto decoded = decoder_->decode(
          coder, {.codec = &codec, .desc = desc, .payload = fill.bytes, .out = nullptr},
          sink_ ? out : std::span<std::byte>());
      if (!decoded) throw DataError(in_part(*reader_, *fill.tensor, *fill.part, decoded.error()));
      results_[task.coded].bytes = out;
      return;
    }
    const auto out = coded_[task.coded].bytes().first(desc.size());
    scratch_[coder].reserve(codec.decode_scratch_size(desc, workers_->size()));
    const auto decoded = codec.decode(fill.bytes, desc, 0, out, scratch_[coder].bytes(), *workers_);
    if (!decoded) throw DataError(in_part(*reader_, *fill.tensor, *fill.part, decoded.error()));
    results_[task.coded].bytes = out;
  }

  Consumed consume(const Task& task) override {
    const Fill& result = results_[task.coded];
    if (sink_ && !result.bytes.empty()) {
      sink_->write(result.number, result.part->first_elem, result.bytes);
    }
    return {.raw = result.bytes.size(),
            .coded = result.part->payload_size,
            .parts = 1,
            .stored = 0,
            .chunks = 1};
  }

  void finish() override {
    if (sink_) sink_->finish();
  }

  const ArchiveReader* reader_;
  const Selection* selection_;
  TensorSink* sink_;
  std::shared_ptr<Workers> workers_;
  HostSlab slab_;
  const Codec store_{Codec::from_name("store").value()};
  std::map<std::uint32_t, Codec> codecs_;  // by chain number
  std::vector<Fill> fills_;                // by host slot
  std::vector<Fill> results_;              // by coded slot
  std::vector<WorkBuffer> coded_;
  std::vector<WorkBuffer> scratch_;
  std::uint64_t read_{0};
  HostSlab device_out_;  // by coded slot
  std::unique_ptr<DeviceDecoder> decoder_;
};

// The flow's threads use what is the caller's: none outlives this.
class FlowEnd {
 public:
  explicit FlowEnd(Flow& flow) noexcept : flow_(&flow) {}
  ~FlowEnd() { flow_->end(std::chrono::milliseconds::max()); }
  FlowEnd(const FlowEnd&) = delete;
  FlowEnd& operator=(const FlowEnd&) = delete;

 private:
  Flow* flow_;
};

Result<JobReport> restore(const ArchiveReader& reader, TensorSink* sink,
                          const JobSettings& settings) {
  OFFRAMP_TRY(selection,
              check_archive(reader, settings.max_part_size, sink && settings.skip_incomplete));
  if (on_device(settings)) {
    for (const ArchiveTensor* tensor : selection.tensors) {
      for (const ArchivePart& part : tensor->parts) {
        OFFRAMP_TRY(codec, codec_of(reader, part));
        OFFRAMP_TRY_VOID(Offloader::check_supported(*settings.device, codec, tensor->desc.dtype));
      }
    }
  }
  return run_job([&]() -> JobReport {
    const auto metadata = reader.metadata().value();
    const auto flow = std::make_shared<RestoreFlow>(reader, selection, sink, settings);
    if (sink) {
      std::vector<TensorInfo> infos;
      infos.reserve(selection.tensors.size());
      for (const ArchiveTensor* tensor : selection.tensors) {
        infos.push_back({.name = tensor->name, .desc = tensor->desc});
      }
      sink->begin(infos, metadata);
    }
    const FlowEnd end(*flow);
    flow->start();
    const std::stop_callback on_cancel(settings.cancel, [&] { flow->cancel(); });
    flow->read_all();
    flow->close(std::nullopt);
    return {.tensors = selection.tensors.size(),
            .bytes = selection.size,
            .skipped = selection.skipped,
            .counters = flow->counters()};
  });
}

}  // namespace

Result<JobReport> unpack(const ArchiveReader& reader, TensorSink& sink,
                         const JobSettings& settings) {
  return restore(reader, &sink, settings);
}

Result<JobReport> verify(const ArchiveReader& reader, const JobSettings& settings) {
  return restore(reader, nullptr, settings);
}

}  // namespace offramp
