// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/core/stream.hpp>
#include <offramp/device/device.hpp>
#include <offramp/engine/counters.hpp>
#include <offramp/engine/kept.hpp>
#include <offramp/engine/pipeline.hpp>
#include <offramp/engine/record_sink.hpp>
#include <offramp/engine/ticket.hpp>
#include <offramp/engine/trace.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace offramp {

class OffloadCore;

/// Which way the bytes take.
struct OffloaderSettings {
  Device* device{};  ///< where the tensors are; null: the host device

  std::size_t chunk_size{32u << 20};  ///< what is coded on its own; larger tensors are cut

  /// Chunks that one launch codes. Few launches with many bytes get in beside a model's matrix
  /// products. A list of more than four goes to the device by a copy of its own, which waits behind
  /// others on the way on.
  std::size_t chunks_per_launch{4};

  /// Launches whose coded bytes are on the device, each way. Two keep a link full; a third waits
  /// for the next gap between a model's kernels. The device memory taken is `device_slots *
  /// chunks_per_launch * chunk_size`, the same again once something is restored, and the kernels'
  /// scratch (`Offloader::device_memory`).
  std::size_t device_slots{3};

  std::size_t host_slots{3};         ///< launches whose coded bytes wait for the sink
  std::size_t store_size{1u << 30};  ///< page-locked bytes to keep coded tensors in, without a sink

  /// Kept tensors only: a chunk that coding does not make smaller than this part of itself crosses
  /// the link raw, and comes back without a decoder. A sink gets what the host would make of it.
  double raw_above{0.95};

  int priority{-5};  ///< of the kernels against the model's: the lowest number goes first

  /// Device cache kept for the ring of coded bytes, where that fits and the device can: then they
  /// take none of the bandwidth of its memory on the way off. 0: none.
  std::size_t cache_bytes{24u << 20};

  std::size_t restore_rate{0};  ///< bytes of original data a second at most, on the way on; 0: all

  Overflow overflow{Overflow::block};
  std::size_t digest_threads{2};  ///< that make what the sink asks of each payload

  /// As PipelineSettings has them.
  std::function<void(const Counters&)> on_progress{};
  std::shared_ptr<Trace> trace{};
  std::chrono::milliseconds abandon_after{10'000};
};

/// A coded chunk on its way back: `payload` decodes to `desc` at `out`.
struct CodedChunk {
  const Codec* codec{};  ///< of one stage; read before the call returns
  TensorDesc desc{};
  std::span<const std::byte> payload{};  ///< host memory, best the device's own (allocate_host)
  std::byte* out{};                      ///< `desc.size()` bytes on the device
};

/// Moves a device's tensors off it and back, coded on the device, so that more of them crosses the
/// link than raw.
///
/// Off: a launch codes some chunks into a slot of device memory; once their sizes are known,
/// exactly the coded bytes are copied to page-locked memory, from where a sink takes them, or where
/// they are kept. On: copy and decode are enqueued at once. The producer's and the consumer's
/// streams are never waited for by the host. Whatever fails first on the way off is kept, and every
/// later call reports it; a restore that fails concerns no other. Thread-safe.
class Offloader {
 public:
  /// To a sink: the records are those that a Pipeline with `codec` makes on the host.
  /// @throws OutOfMemory for device memory, or page-locked memory, that is refused; LogicError for
  ///         settings that contradict themselves.
  Offloader(OffloaderSettings settings, Codec codec, std::shared_ptr<RecordSink> sink);

  /// To its own store of `store_size` bytes.
  Offloader(OffloaderSettings settings, Codec codec);

  Offloader(Offloader&&) noexcept;
  Offloader& operator=(Offloader&&) noexcept;

  /// Cancels what is not durable (close first to keep it), waits at most `abandon_after`, throws
  /// nothing.
  ~Offloader();

  /// Whether `device` codes that dtype itself. `store` goes everywhere: it is the raw lane.
  /// @returns why not, and what to use instead.
  static Result<void> check_supported(const Device& device, const Codec& codec, DType dtype);

  /// Submits tensors that are ready when the work given to `producer` so far is done; `data` is
  /// device memory. Waits for a slot if none is free (Overflow::block). The sources must not change
  /// until the ticket is staged: coded, or, for what crosses raw, copied. It is durable when the
  /// sink has it.
  /// @throws the first error if the offloader has failed; LogicError for a part that contradicts
  ///         itself, a dtype without kernels, after `close`, and for an offloader without a sink.
  Ticket submit(StreamRef producer, const Chunk& chunk);

  /// The same, to the store. @returns `limit_exceeded` where the store has no room for the tensors
  /// at their full size, even when all that is under way has shrunk; nothing is taken then.
  Result<Kept> keep(StreamRef producer, const Chunk& chunk);

  /// Restores what is kept: `outs` names a place on the device for each tensor of the chunk, in
  /// order, to be written when the work given to `consumer` so far is done; work given to
  /// `consumer` from now on finds it written. Waits for `kept` to be durable, and for room in the
  /// lane.
  /// @throws as `Kept::ticket().wait_durable()` reports; LogicError for another number of places.
  Restoring restore(StreamRef consumer, const Kept& kept, std::span<std::byte* const> outs);

  /// The same for coded bytes of any origin; they are checked as they are decoded. `keep_alive` is
  /// held until they have been read.
  Restoring restore(StreamRef consumer, std::span<const CodedChunk> chunks,
                    std::shared_ptr<const void> keep_alive);

  /// As of Pipeline: for the way off.
  void close();
  bool stop(Ticket::Clock::time_point deadline);
  void cancel() noexcept;
  [[nodiscard]] Counters counters() const;

  /// Bytes of device memory taken at present.
  [[nodiscard]] std::size_t device_memory() const;

 private:
  std::shared_ptr<OffloadCore> core_;
};

}  // namespace offramp
