// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/device/device.hpp>
#include <offramp/engine/counters.hpp>
#include <offramp/engine/pipeline.hpp>
#include <offramp/engine/ticket.hpp>
#include <offramp/engine/trace.hpp>
#include <offramp/frames/frame_view.hpp>
#include <offramp/frames/pixel_format.hpp>
#include <offramp/transport/frame_sink.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace offramp {

class FrameCore;

struct FrameWriterSettings {
  Device* device{};          ///< where the frames are; null: the host device
  std::size_t slot_size{0};  ///< bytes: as many whole frames as fit, at least one; 0: 1 MiB

  /// Submits whose frames are not all converted yet: they wait here, with their sources, and not
  /// their producer, whatever their size. At least 1.
  std::size_t submits{4};

  /// Slots of converted frames on their way to the host; none on the host device. With 0 elsewhere,
  /// the device writes to host memory itself.
  std::size_t device_slots{2};

  /// Slots of frames waiting to be coded and written; 0: two more than threads, at least 4. Never
  /// fewer than 2: one is kept for `submit` where others are filled in place.
  std::size_t host_slots{0};

  /// That code frames which can be coded alone (png); 0: one for each processor. Other sinks need
  /// one.
  std::size_t threads{0};

  int priority{-5};  ///< of the conversion against the producer's kernels: the lowest goes first

  /// With `drop`, a submit is dropped, all of it, where `submits` others are waiting.
  Overflow overflow{Overflow::block};

  /// As PipelineSettings has them.
  std::function<void(const Counters&)> on_progress{};
  std::shared_ptr<Trace> trace{};
  std::chrono::milliseconds abandon_after{10'000};

  /// Where the job fails or is cancelled after a frame was written, leave what was written
  /// (FrameSink::keep_partial), once the writer is gone.
  bool keep_partial{true};
};

/// Takes frames off a generator and writes them, while it makes the next ones.
///
/// The producer submits and goes on: conversion, copy, coding and writing happen behind it, in
/// order, with memory bounded by the slots. Its stream waits for nothing, its thread only where
/// `submits` submits are waiting already (counted as a stall). What fails first is kept and
/// reported by every later call. Thread-safe: several producers may submit; the frames of one
/// submit stay together.
///
/// In a process forked from the writer's nothing works but to let it go, which leaves the file to
/// the other.
///
/// Frames in memory that the device reaches only by slow copies (pageable memory, for a GPU) are
/// converted on the host.
class FrameWriter {
 public:
  class Slot;

  /// Begins the sink and starts the threads. @throws what the sink's `begin` throws; OutOfMemory;
  /// LogicError for a format that the sink does not take.
  FrameWriter(FrameWriterSettings settings, const FrameFormat& format,
              std::shared_ptr<FrameSink> sink);
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;

  /// Cancels what is not written (close first to keep it), throws nothing, waits at most
  /// `abandon_after`.
  ~FrameWriter();

  /// Submits frames that are ready when the work given to `stream` so far is done. They must not
  /// change until the ticket is staged; `keep_alive` is held until then. Frames of another size,
  /// dtype or range than the ones before are welcome as long as they fit the writer's format.
  /// @throws the first error if the writer has failed; LogicError for frames that do not fit, or
  ///         none, which changes nothing, and after `close`.
  Ticket submit(StreamRef stream, const FrameView& frames,
                std::shared_ptr<const void> keep_alive = {});

  /// The pull face, on every device: an empty host slot for one or more finished frames. Waits for
  /// one, with Overflow::drop too. All but one can be held at a time.
  /// @throws the first error if the writer has failed; LogicError after `close`.
  [[nodiscard]] Slot acquire();

  /// Submits the first `frames` frames of a slot, behind what was submitted before. The slot is
  /// given up in any case. @throws as the other; LogicError for none or more than there is room
  /// for.
  Ticket submit(Slot slot, std::size_t frames);

  /// Takes no more frames, waits until all are written, and lets the sink finish.
  /// @throws the first error, as it was thrown; LogicError where the sink holds another number of
  ///         frames than were submitted. Closing again does nothing more.
  void close();

  /// The same within a time. @returns false where the deadline was missed: the rest is cancelled.
  bool stop(Ticket::Clock::time_point deadline);

  /// Fails the writer with ErrorCode::cancelled, unless it has failed before. Does not wait.
  void cancel() noexcept;

  /// The first error, with what was being done and the frame's number in its words; nothing where
  /// there is none.
  [[nodiscard]] std::optional<Error> error() const;

  /// `chunks_in`, `chunks_out` and `chunks_dropped` count submits, `parts_out` frames; `bytes_in`
  /// and `bytes_done` the sources' bytes.
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const FrameFormat& format() const;

 private:
  std::shared_ptr<FrameCore> core_;
};

/// A host slot that its holder fills. Move-only; given back where it is not submitted.
class FrameWriter::Slot {
 public:
  Slot() noexcept = default;
  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot();

  /// Room for whole frames, one after the other.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class FrameWriter;
  Slot(std::shared_ptr<FrameCore> core, std::size_t index) noexcept;

  std::shared_ptr<FrameCore> core_;
  std::span<std::byte> bytes_{};
  std::size_t index_{};
};

}  // namespace offramp
