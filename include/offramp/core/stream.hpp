// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

namespace offramp {

class Event;
class StreamRef;

/// What a device does for its streams and events. Implemented by each Device; called through
/// StreamRef and Event, which carry the native handles.
class StreamDriver {
 public:
  virtual ~StreamDriver() = default;

  virtual void sync(StreamRef stream) = 0;
  [[nodiscard]] virtual bool is_done(StreamRef stream) = 0;
  virtual void wait(StreamRef stream, const Event& event) = 0;
  virtual void destroy_stream(void* native) noexcept = 0;

  [[nodiscard]] virtual void* make_native_event() = 0;
  virtual void destroy_event(void* native) noexcept = 0;
  virtual void record(Event& event, StreamRef stream) = 0;
  virtual void sync_event(const Event& event) = 0;
  [[nodiscard]] virtual bool is_event_done(const Event& event) = 0;
};

/// A stream that somebody else owns: work given to it runs in order, beside other streams' work.
///
/// Two words, freely copied. There is no default stream and none can be named: neither 0 nor
/// nullptr makes one.
class StreamRef {
 public:
  /// `native` is the driver's own handle (a cudaStream_t for CUDA), never null.
  /// @throws LogicError for a null handle.
  StreamRef(StreamDriver& driver, void* native);
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;

  [[nodiscard]] StreamDriver& driver() const noexcept { return *driver_; }
  [[nodiscard]] void* native() const noexcept { return native_; }

  /// Blocks until all work given to the stream so far is done.
  void sync() const { driver_->sync(*this); }

  [[nodiscard]] bool is_done() const { return driver_->is_done(*this); }

  /// Lets work given to the stream from now on start only when `event`, as last recorded, is done.
  /// Does not block. An event that was never recorded counts as done.
  void wait(const Event& event) const { driver_->wait(*this, event); }

  /// `event` is done when all work given to the stream so far is. Does not block.
  void record_event(Event& event) const { driver_->record(event, *this); }

  friend bool operator==(StreamRef a, StreamRef b) noexcept {
    return a.driver_ == b.driver_ && a.native_ == b.native_;
  }

 private:
  StreamDriver* driver_;
  void* native_;
};

/// Owning stream. Move-only; destroyed, it lets its work finish.
class Stream {
 public:
  Stream() noexcept = default;

  /// Takes over `native`, made by `driver`.
  Stream(StreamDriver& driver, void* native) noexcept : driver_(&driver), native_(native) {}
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  /// @throws LogicError for a stream that was moved from.
  [[nodiscard]] StreamRef ref() const;
  operator StreamRef() const { return ref(); }  // NOLINT: a reference to its owner

 private:
  StreamDriver* driver_{};
  void* native_{};
};

static_assert(std::is_nothrow_move_constructible_v<Stream>);
static_assert(std::is_trivially_copyable_v<StreamRef>);

}  // namespace offramp
