// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/progress.hpp"

#include <offramp/engine/ticket.hpp>

#include <utility>

namespace offramp {

Ticket::Ticket(std::shared_ptr<Progress> progress, std::uint64_t end, bool dropped) noexcept
    : progress_(std::move(progress)), end_(end), dropped_(dropped) {}

Ticket::State Ticket::state() const {
  OFFRAMP_EXPECTS(progress_, "the ticket is of no chunk");
  if (dropped_) return State::dropped;
  const std::lock_guard lock(progress_->mutex);
  if (progress_->durable >= end_) return State::durable;
  if (progress_->failed) return State::failed;
  return progress_->staged >= end_ ? State::staged : State::submitted;
}

Result<void> Ticket::wait_staged() const {
  OFFRAMP_EXPECTS(progress_, "the ticket is of no chunk");
  if (dropped_) return {};
  std::unique_lock lock(progress_->mutex);
  // Also after a failure: a copy that was begun may still read the source.
  progress_->moved.wait(lock, [&] { return progress_->staged >= end_; });
  if (progress_->failed && progress_->durable < end_) return progress_->error;
  return {};
}

Result<void> Ticket::wait_durable() const {
  OFFRAMP_EXPECTS(progress_, "the ticket is of no chunk");
  if (dropped_) return {};
  std::unique_lock lock(progress_->mutex);
  progress_->moved.wait(lock, [&] { return progress_->durable >= end_ || progress_->failed; });
  if (progress_->durable < end_) return progress_->error;
  return {};
}

bool Ticket::wait_durable_until(Clock::time_point deadline) const {
  OFFRAMP_EXPECTS(progress_, "the ticket is of no chunk");
  if (dropped_) return false;
  std::unique_lock lock(progress_->mutex);
  progress_->moved.wait_until(lock, deadline,
                              [&] { return progress_->durable >= end_ || progress_->failed; });
  return progress_->durable >= end_;
}

}  // namespace offramp
