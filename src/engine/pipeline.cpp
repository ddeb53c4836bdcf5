// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/pipeline_core.hpp"

#include <offramp/engine/pipeline.hpp>

#include <utility>

namespace offramp {
namespace {

PipelineCore& core_of(const std::shared_ptr<PipelineCore>& core) {
  OFFRAMP_EXPECTS(core, "the pipeline was moved from");
  return *core;
}

}  // namespace

Pipeline::Pipeline(PipelineSettings settings, Codec codec, std::shared_ptr<RecordSink> sink)
    : core_(
          std::make_shared<PipelineCore>(std::move(settings), std::move(codec), std::move(sink))) {
  try {
    core_->start();
  } catch (...) {
    core_->end(core_->patience());
    throw;
  }
}

Pipeline::Pipeline(Pipeline&&) noexcept = default;

Pipeline& Pipeline::operator=(Pipeline&& other) noexcept {
  if (this != &other) {
    if (core_) core_->end(core_->patience());
    core_ = std::move(other.core_);
  }
  return *this;
}

Pipeline::~Pipeline() {
  if (core_) core_->end(core_->patience());
}

Ticket Pipeline::submit(StreamRef stream, const Chunk& chunk) {
  return core_of(core_).submit(stream, chunk);
}

Pipeline::Slot Pipeline::acquire() { return Slot(core_, core_of(core_).acquire_in_place()); }

Ticket Pipeline::submit(Slot slot, std::span<const TensorPart> parts) {
  OFFRAMP_EXPECTS(core_ && slot.core_ == core_, "the slot is not of this pipeline");
  const auto core = std::exchange(slot.core_, nullptr);
  return core->submit_in_place(slot.index_, parts);
}

void Pipeline::close() { core_of(core_).close(std::nullopt); }

bool Pipeline::stop(Ticket::Clock::time_point deadline) { return core_of(core_).close(deadline); }

void Pipeline::cancel() noexcept {
  if (core_) core_->cancel();
}

Counters Pipeline::counters() const { return core_of(core_).counters(); }

Pipeline::Slot::Slot(std::shared_ptr<PipelineCore> core, std::size_t index) noexcept
    : core_(std::move(core)), bytes_(core_->host_slot(index)), index_(index) {}

Pipeline::Slot::Slot(Slot&& other) noexcept
    : core_(std::move(other.core_)),
      bytes_(std::exchange(other.bytes_, {})),
      index_(other.index_) {}

Pipeline::Slot& Pipeline::Slot::operator=(Slot&& other) noexcept {
  if (this != &other) {
    if (core_) core_->release(index_);
    core_ = std::move(other.core_);
    bytes_ = std::exchange(other.bytes_, {});
    index_ = other.index_;
  }
  return *this;
}

Pipeline::Slot::~Slot() {
  if (core_) core_->release(index_);
}

}  // namespace offramp
