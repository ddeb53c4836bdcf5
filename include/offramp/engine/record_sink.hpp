// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/engine/part.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp {

/// One coded part on its way to a sink. Refers to the pipeline's memory; valid during the call.
struct EncodedPart {
  std::uint64_t chunk{};  ///< number of the submit call it came with, from 0
  TensorPart what{};
  const Codec* codec{};  ///< the chain that decodes `payload`
  std::span<const std::byte> payload{};
  std::uint64_t digest{};  ///< what RecordSink::digest made of `payload`
};

/// Where a pipeline's coded parts go: an archive, a network, memory.
///
/// `write` is called in the order of submission, never twice at a time, by whichever of the
/// pipeline's threads is free. What a sink throws fails the pipeline.
class RecordSink {
 public:
  virtual ~RecordSink() = default;

  /// What the sink wants to know of a payload, such as its checksum. Called by the threads that
  /// code, several at once, right after the payload was made, so that `write` need not read it.
  [[nodiscard]] virtual std::uint64_t digest(std::span<const std::byte> payload) const {
    static_cast<void>(payload);
    return 0;
  }

  /// Takes the part; when this returns, the sink has it and the part counts as durable.
  virtual void write(const EncodedPart& part) = 0;

  /// Called once, when all parts are written and the pipeline closes without an error.
  virtual void finish() {}
};

}  // namespace offramp
