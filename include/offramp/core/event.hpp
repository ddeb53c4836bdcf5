// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>

#include <type_traits>

namespace offramp {

/// A point in a stream's work, recorded again and again without allocating.
///
/// Move-only. Until it is first recorded it counts as done. Recording does not disturb those who
/// already wait for the earlier point.
class Event {
 public:
  Event() noexcept = default;
  explicit Event(StreamDriver& driver) : driver_(&driver), native_(driver.make_native_event()) {}
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  [[nodiscard]] StreamDriver& driver() const noexcept { return *driver_; }
  [[nodiscard]] void* native() const noexcept { return native_; }

  void record(StreamRef stream) { driver_->record(*this, stream); }

  /// Blocks until the point last recorded is reached.
  void sync() const { driver_->sync_event(*this); }

  [[nodiscard]] bool is_done() const { return driver_->is_event_done(*this); }

 private:
  StreamDriver* driver_{};
  void* native_{};
};

static_assert(std::is_nothrow_move_constructible_v<Event>);

}  // namespace offramp
