// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace offramp {

/// What a pipeline or job has done so far. A snapshot; the parts agree with each other.
struct Counters {
  std::uint64_t chunks_in{};       ///< submitted, the dropped ones too
  std::uint64_t chunks_out{};      ///< that the sink has
  std::uint64_t chunks_dropped{};  ///< refused because no slot was free (Overflow::drop)
  std::uint64_t bytes_in{};        ///< of original data submitted, the dropped left out
  std::uint64_t bytes_done{};      ///< of original data that the sink has
  std::uint64_t bytes_out{};       ///< coded bytes that the sink has
  std::uint64_t parts_out{};
  std::uint64_t parts_stored{};  ///< of these, kept as they were because coding did not shrink them
  std::uint64_t stalls{};        ///< times a producer waited for a slot
  std::uint64_t stall_ns{};      ///< and how long, in all
  std::uint64_t pageable_copies{};  ///< copies from or to memory that the device reaches slowly
  std::uint64_t regrown_buffers{};  ///< working buffers that had to grow after the start

  std::uint64_t device_slots{};
  std::uint64_t device_slots_peak{};  ///< most of them in use at one time
  std::uint64_t host_slots{};
  std::uint64_t host_slots_peak{};
  std::uint64_t coded_slots{};
  std::uint64_t coded_slots_peak{};

  /// One JSON object, a member a field, names as above.
  [[nodiscard]] std::string to_json() const;

  /// Prometheus text exposition; every name starts with `prefix` and an underscore.
  [[nodiscard]] std::string to_prometheus(std::string_view prefix = "offramp") const;
};

}  // namespace offramp
