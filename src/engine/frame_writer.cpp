// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/frame_core.hpp"

#include <offramp/engine/frame_writer.hpp>

#include <utility>

namespace offramp {
namespace {

FrameCore& core_of(const std::shared_ptr<FrameCore>& core) {
  OFFRAMP_EXPECTS(core, "the frame writer was moved from");
  OFFRAMP_EXPECTS(core->is_at_home(),
                  "the frame writer belongs to the process that this one was forked from");
  return *core;
}

void end(FrameCore& core) noexcept {
  if (core.is_at_home()) {
    core.end(core.patience());
  } else {
    core.leave();
  }
}

void give_back(FrameCore& core, std::size_t slot) noexcept {
  if (core.is_at_home()) {
    core.release(slot);
  } else {
    core.leave();
  }
}

}  // namespace

FrameWriter::FrameWriter(FrameWriterSettings settings, const FrameFormat& format,
                         std::shared_ptr<FrameSink> sink)
    : core_(std::make_shared<FrameCore>(std::move(settings), format, std::move(sink))) {
  try {
    core_->start();
  } catch (...) {
    core_->end(core_->patience());
    throw;
  }
}

FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;

FrameWriter& FrameWriter::operator=(FrameWriter&& other) noexcept {
  if (this != &other) {
    if (core_) end(*core_);
    core_ = std::move(other.core_);
  }
  return *this;
}

FrameWriter::~FrameWriter() {
  if (core_) end(*core_);
}

Ticket FrameWriter::submit(StreamRef stream, const FrameView& frames,
                           std::shared_ptr<const void> keep_alive) {
  return core_of(core_).submit(stream, frames, std::move(keep_alive));
}

FrameWriter::Slot FrameWriter::acquire() { return Slot(core_, core_of(core_).acquire_in_place()); }

Ticket FrameWriter::submit(Slot slot, std::size_t frames) {
  static_cast<void>(core_of(core_));
  OFFRAMP_EXPECTS(slot.core_ == core_, "the slot is not of this frame writer");
  const auto core = std::exchange(slot.core_, nullptr);
  return core->submit_in_place(slot.index_, frames);
}

void FrameWriter::close() { core_of(core_).close(std::nullopt); }

bool FrameWriter::stop(Ticket::Clock::time_point deadline) {
  return core_of(core_).close(deadline);
}

void FrameWriter::cancel() noexcept {
  if (core_ && core_->is_at_home()) core_->cancel();
}

std::optional<Error> FrameWriter::error() const { return core_of(core_).error(); }

Counters FrameWriter::counters() const { return core_of(core_).counters(); }

const FrameFormat& FrameWriter::format() const { return core_of(core_).format(); }

FrameWriter::Slot::Slot(std::shared_ptr<FrameCore> core, std::size_t index) noexcept
    : core_(std::move(core)), bytes_(core_->host_slot(index)), index_(index) {}

FrameWriter::Slot::Slot(Slot&& other) noexcept
    : core_(std::move(other.core_)),
      bytes_(std::exchange(other.bytes_, {})),
      index_(other.index_) {}

FrameWriter::Slot& FrameWriter::Slot::operator=(Slot&& other) noexcept {
  if (this != &other) {
    if (core_) give_back(*core_, index_);
    core_ = std::move(other.core_);
    bytes_ = std::exchange(other.bytes_, {});
    index_ = other.index_;
  }
  return *this;
}

FrameWriter::Slot::~Slot() {
  if (core_) give_back(*core_, index_);
}

}  // namespace offramp
