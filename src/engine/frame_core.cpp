// SPDX-License-Identifier: Apache-2.0
#include "engine/frame_core.hpp"

#include "core/checks.hpp"
#include "frames/device_convert.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace offramp {
namespace {

constexpr std::size_t usual_slot_size = 1 << 20;

std::shared_ptr<FrameSink> expect_takes(std::shared_ptr<FrameSink> sink,
                                        const FrameFormat& format) {
  OFFRAMP_EXPECTS(sink, "a frame writer needs a sink");
  OFFRAMP_EXPECTS(format.width > 0 && format.height > 0, "a frame has at least one pixel");
  std::string names;
  for (const PixelFormat pixels : sink->formats()) {
    if (pixels == format.pixels) return sink;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(pixels));
  }
  throw LogicError(
      fmt::format("the sink does not take {}: it takes {}", name_of(format.pixels), names));
}

std::size_t coder_count(const FrameWriterSettings& settings, const FrameSink* sink) {
  if (!sink || !sink->codes_alone()) return 1;
  if (settings.threads > 0) return settings.threads;
  return std::max(1u, std::thread::hardware_concurrency());
}

std::size_t host_slot_count(const FrameWriterSettings& settings, const FrameSink* sink) {
  if (settings.host_slots > 0) return std::max<std::size_t>(2, settings.host_slots);
  return std::max<std::size_t>(4, coder_count(settings, sink) + 2);
}

// Coded frames that wait for an earlier one have slots of their own; those that are not coded stay
// in their host slots.
std::size_t coded_slot_count(const FrameWriterSettings& settings, const FrameSink* sink) {
  return sink && sink->codes_alone() ? coder_count(settings, sink) + 2
                                     : host_slot_count(settings, sink);
}

std::size_t frames_in_slot(const FrameWriterSettings& settings, std::size_t frame_size) {
  const std::size_t wanted = settings.slot_size > 0 ? settings.slot_size : usual_slot_size;
  return std::max<std::size_t>(1, wanted / frame_size);
}

}  // namespace

FrameCore::FrameCore(FrameWriterSettings settings, const FrameFormat& format,
                     std::shared_ptr<FrameSink> sink)
    : Flow({.host_slots = host_slot_count(settings, sink.get()),
            .coded_slots = coded_slot_count(settings, sink.get()),
            .coders = coder_count(settings, sink.get()),
            .transform_name = "encode",
            .consume_name = "write",
            .unit = "frame",
            .on_progress = progress_report(settings.on_progress),
            .trace = settings.trace}),
      settings_(std::move(settings)),
      format_(format),
      frame_size_(format.size()),
      frames_per_slot_(frames_in_slot(settings_, std::max<std::size_t>(1, frame_size_))),
      device_(settings_.device ? *settings_.device : host_device()),
      on_host_(&device_ == &host_device()),
      device_slots_(on_host_ ? 0 : settings_.device_slots),
      codes_(sink && sink->codes_alone()),
      coders_count_(coder_count(settings_, sink.get())),
      sink_(expect_takes(std::move(sink), format)),
      host_slab_(device_,
                 {.slots = host_pool_.total(), .slot_size = frames_per_slot_ * frame_size_}),
      convert_stream_(frames::device_convert(device_).make_stream(device_, settings_.priority)),
      copy_stream_(has_device_slots() ? device_.make_stream() : Stream()),
      submits_(settings_.submits),
      entries_(host_pool_.total() + device_slots_),
      coded_(coded_slot_count(settings_, sink_.get())),
      copied_(device_.make_event()),
      process_(::getpid()),
      submit_pool_(settings_.submits),
      device_pool_(device_slots_),
      pending_(settings_.submits + host_pool_.total()),
      staging_(settings_.submits + entries_.size()) {
  OFFRAMP_EXPECTS(settings_.submits > 0, "a frame writer needs room for one submit");
  device_buffers_.reserve(device_slots_);
  for (std::size_t slot = 0; slot < device_slots_; ++slot) {
    device_buffers_.emplace_back(convert_stream_, device_.memory(), frames_per_slot_ * frame_size_);
  }
  for (Submit& submit : submits_) submit.ready = device_.make_event();
  for (Entry& entry : entries_) entry.converted = device_.make_event();
  frames::device_convert(device_).load(device_);  // later that would stop the device
  if (!codes_) return;
  // From the start, so that a slot that is first used late allocates nothing then.
  for (Coded& coded : coded_) {
    coded.frames.resize(frames_per_slot_);
    for (std::vector<std::byte>& frame : coded.frames) frame.reserve(frame_size_);
  }
}

std::function<void(const Counters&)> FrameCore::progress_report(
    std::function<void(const Counters&)> report) {
  if (!report) return {};
  return [this, report = std::move(report)](const Counters& now) {
    try {
      report(now);
    } catch (...) {
      fail_with_current("progress report", now.parts_out - 1);
      throw;
    }
  };
}

// The threads are over: nobody is in the sink.
FrameCore::~FrameCore() {
  if (settings_.keep_partial && written_ > 0 && !sink_done_) sink_->keep_partial();
}

bool FrameCore::is_at_home() const noexcept { return ::getpid() == process_; }

void FrameCore::start() {
  sink_->begin(format_);
  Flow::start();
  start_thread("offramp-enqueue", [this] { enqueue(); });
  start_thread("offramp-copy", [this] { stage(); });
}

std::byte* FrameCore::slot_data(std::size_t slot) const noexcept {
  return slot < host_slab_.slots() ? host_slab_.slot(slot).data()
                                   : device_buffers_[slot - host_slab_.slots()].data();
}

std::optional<Error> FrameCore::error() const {
  const std::lock_guard lock(mutex());
  if (!failed()) return std::nullopt;
  return progress()->error;
}

void FrameCore::expect_running() const {
  const std::lock_guard lock(mutex());
  expect_open(true);
}

void FrameCore::transform(Task& task, std::size_t) {
  Coded& coded = coded_[task.coded];
  coded.fill = entries_[task.slot].fill;
  coded.data = slot_data(task.slot);
  task.chunk = coded.fill.chunk;
  task.bytes = coded.fill.frames * frame_size_;
  task.holds_slot = !codes_;
  if (!codes_) return;
  std::uint64_t regrown = 0;
  for (std::size_t at = 0; at < coded.fill.frames; ++at) {
    if (at > 0) expect_running();
    std::vector<std::byte>& out = coded.frames[at];
    const std::size_t room = out.capacity();
    try {
      sink_->encode({coded.data + at * frame_size_, frame_size_}, out);
    } catch (...) {
      fail_with_current("encode", coded.fill.first_frame + at);
      throw;
    }
    if (out.capacity() != room) ++regrown;
  }
  if (regrown == 0) return;
  const std::lock_guard lock(mutex());
  counters_.regrown_buffers += regrown;
}

Flow::Consumed FrameCore::consume(const Task& task) {
  const Coded& coded = coded_[task.coded];
  Consumed consumed{.raw = coded.fill.raw,
                    .coded = 0,
                    .parts = coded.fill.frames,
                    .stored = 0,
                    .chunks = coded.fill.ends_chunk ? 1u : 0u};
  for (std::size_t at = 0; at < coded.fill.frames; ++at) {
    if (at > 0) expect_running();
    const std::span<const std::byte> bytes =
        codes_ ? std::span<const std::byte>(coded.frames[at])
               : std::span<const std::byte>(coded.data + at * frame_size_, frame_size_);
    try {
      sink_->write(coded.fill.first_frame + at, bytes);
    } catch (...) {
      fail_with_current("write", coded.fill.first_frame + at);
      throw;
    }
    ++written_;
    consumed.coded += bytes.size();
  }
  return consumed;
}

void FrameCore::finish() {
  try {
    sink_->finish();
    sink_done_ = true;
    const std::uint64_t held = sink_->frames_out();
    OFFRAMP_EXPECTS(
        held == next_frame_,
        fmt::format("frames were lost: {} were submitted, the sink holds {}", next_frame_, held));
  } catch (...) {
    fail_with_current("finish", written_);
    throw;
  }
}

void FrameCore::add_to(Counters& counters) const noexcept {
  counters.device_slots = device_pool_.total();
  counters.device_slots_peak = device_pool_.peak();
}

}  // namespace offramp
