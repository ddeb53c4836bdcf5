// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/device/device.hpp>
#include <offramp/engine/counters.hpp>
#include <offramp/engine/part.hpp>
#include <offramp/engine/record_sink.hpp>
#include <offramp/engine/ticket.hpp>
#include <offramp/engine/trace.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace offramp {

class PipelineCore;

/// What a producer does when no slot is free.
enum class Overflow {
  block,  ///< wait: nothing is lost
  drop,   ///< refuse the chunk and count it
};

struct PipelineSettings {
  Device* device{};                  ///< null: the host device
  std::size_t chunk_size{8u << 20};  ///< bytes of a slot; larger tensors are cut into parts
  std::size_t device_slots{2};       ///< 0: sources are copied straight into host slots
  std::size_t host_slots{6};         ///< at least 1
  std::size_t coded_slots{3};        ///< what the encoders write and the sink takes; at least 1
  std::size_t threads{0};            ///< that encode; 0: one for each processor
  std::size_t coders{2};  ///< how many of the threads code a slot each; the others help them
  std::shared_ptr<Workers> workers{};  ///< to encode with, shared with others, instead of `threads`
  Overflow overflow{Overflow::block};

  /// Called by the thread that writes after each chunk that the sink has. Must not call the
  /// pipeline but for `cancel` and `counters`; what it throws fails the pipeline.
  std::function<void(const Counters&)> on_progress{};
  std::shared_ptr<Trace> trace{};

  /// How long the destructor waits for a sink that does not return before it leaves the threads
  /// behind; they own what they use and end when the sink returns.
  std::chrono::milliseconds abandon_after{10'000};
};

/// A tensor that a producer submits: where it is, and what.
struct ChunkTensor {
  TensorPart what{};        ///< what.part is what lies at `data`
  const std::byte* data{};  ///< contiguous, on the device or the host
};

/// What a producer submits at once.
struct Chunk {
  std::span<const ChunkTensor> tensors{};

  /// Held until the sources are copied, so that they cannot be freed before.
  std::shared_ptr<const void> keep_alive{};
};

/// Copies, encodes and writes at once, in order, with memory bounded by its slots.
///
/// The producer submits and goes on. Whatever fails first is kept, and every later submit and wait
/// reports it. Thread-safe: several producers may submit; parts are written in the order in which
/// the submit calls got their slots. In steady state nothing is allocated.
class Pipeline {
 public:
  class Slot;

  /// Starts the threads. @throws OutOfMemory; LogicError for settings that contradict themselves.
  Pipeline(PipelineSettings settings, Codec codec, std::shared_ptr<RecordSink> sink);
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;

  /// Cancels what is not durable (close first to keep it), waits at most `abandon_after`, throws
  /// nothing.
  ~Pipeline();

  /// Submits tensors that are ready when the work given to `stream` so far is done. Waits for a
  /// slot if none is free (Overflow::block), never for the copy. The sources must not change until
  /// the ticket is staged.
  /// @throws the pipeline's first error if it has failed; LogicError for a part that contradicts
  ///         itself, or after `close`.
  Ticket submit(StreamRef stream, const Chunk& chunk);

  /// The pull face: an empty host slot to fill in place. Waits for one; with Overflow::drop too.
  /// @throws the pipeline's first error if it has failed; LogicError after `close`, and in a
  ///         pipeline with device slots.
  [[nodiscard]] Slot acquire();

  /// Submits a slot that holds the parts one after the other, each at the next multiple of
  /// `part_alignment`. The ticket is staged at once.
  Ticket submit(Slot slot, std::span<const TensorPart> parts);

  static constexpr std::size_t part_alignment = 64;

  /// Takes no more chunks, waits until the sink has all of them, and lets it finish.
  /// @throws the first error, as it was thrown. Closing again does nothing more.
  void close();

  /// The same within a time. @returns false where the deadline was missed: the rest is cancelled.
  bool stop(Ticket::Clock::time_point deadline);

  /// Fails the pipeline with ErrorCode::cancelled, unless it has failed before. Does not wait.
  void cancel() noexcept;

  [[nodiscard]] Counters counters() const;

 private:
  std::shared_ptr<PipelineCore> core_;
};

/// A host slot that its holder fills. Move-only; given back where it is not submitted. May outlive
/// the pipeline.
class Pipeline::Slot {
 public:
  Slot() noexcept = default;
  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot();

  /// `chunk_size` bytes.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class Pipeline;
  Slot(std::shared_ptr<PipelineCore> core, std::size_t index) noexcept;

  std::shared_ptr<PipelineCore> core_;
  std::span<std::byte> bytes_{};
  std::size_t index_{};
};

}  // namespace offramp
