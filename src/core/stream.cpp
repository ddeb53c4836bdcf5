// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/core/event.hpp>
#include <offramp/core/stream.hpp>

#include <utility>

namespace offramp {

StreamRef::StreamRef(StreamDriver& driver, void* native) : driver_(&driver), native_(native) {
  OFFRAMP_EXPECTS(native, "a stream handle is null: the default stream is never used");
}

Stream::Stream(Stream&& other) noexcept
    : driver_(other.driver_), native_(std::exchange(other.native_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    if (native_) driver_->destroy_stream(native_);
    driver_ = other.driver_;
    native_ = std::exchange(other.native_, nullptr);
  }
  return *this;
}

StreamRef Stream::ref() const {
  OFFRAMP_EXPECTS(native_, "the stream was moved from");
  return {*driver_, native_};
}

Stream::~Stream() {
  if (native_) driver_->destroy_stream(native_);
}

Event::Event(Event&& other) noexcept
    : driver_(other.driver_), native_(std::exchange(other.native_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    if (native_) driver_->destroy_event(native_);
    driver_ = other.driver_;
    native_ = std::exchange(other.native_, nullptr);
  }
  return *this;
}

Event::~Event() {
  if (native_) driver_->destroy_event(native_);
}

}  // namespace offramp
