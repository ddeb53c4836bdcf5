// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace offramp {

class Progress;

/// What a submit returns: it becomes *staged*, then *durable*, or fails. Cheap to copy; may outlive
/// the pipeline. Thread-safe.
class Ticket {
 public:
  using Clock = std::chrono::steady_clock;

  enum class State {
    submitted,  ///< the source must stay as it is
    staged,     ///< copied: the source may be reused
    durable,    ///< the sink has it
    failed,     ///< the sink will never have it; `wait_durable` says why
    dropped,    ///< refused for want of a slot (Overflow::drop); the source may be reused
  };

  Ticket() noexcept = default;

  [[nodiscard]] State state() const;

  /// Waits until the source may be reused. @returns the pipeline's first error if it failed before.
  Result<void> wait_staged() const;

  /// Waits until the sink has the chunk. @returns the pipeline's first error if it never will, or
  /// `cancelled`. A dropped chunk is no error: ask `state`.
  Result<void> wait_durable() const;

  /// Waits no longer than `deadline`. @returns whether the chunk is durable.
  [[nodiscard]] bool wait_durable_until(Clock::time_point deadline) const;

 private:
  friend class FrameCore;
  friend class OffloadCore;
  friend class PipelineCore;
  Ticket(std::shared_ptr<Progress> progress, std::uint64_t end, bool dropped) noexcept;

  std::shared_ptr<Progress> progress_;
  std::uint64_t end_{};  // slot fills up to and with this chunk's last
  bool dropped_{};
};

}  // namespace offramp
