// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp {

/// Format versions this build reads and writes (docs/format.md).
inline constexpr std::uint32_t min_archive_version = 1;
inline constexpr std::uint32_t max_archive_version = 1;

/// Bounds of the format itself: no writer goes beyond, every reader refuses what does.
inline constexpr std::size_t max_name_size = std::size_t{64} << 10;
inline constexpr std::size_t max_chain_size = std::size_t{64} << 10;
inline constexpr std::size_t max_header_size = std::size_t{256} << 10;

/// What a reader is willing to take from a file it has no reason to trust. Each is checked before
/// memory is asked for; beyond one, the file is refused with `limit_exceeded`.
struct ReaderLimits {
  std::uint64_t max_payload_size = std::uint64_t{4} << 30;     ///< of one record, coded
  std::uint64_t max_raw_size = std::uint64_t{4} << 30;         ///< of one record, decoded
  std::uint64_t max_metadata_size = std::uint64_t{128} << 20;  ///< of one metadata record
  std::uint64_t max_records = std::uint64_t{1} << 24;
  /// For names, parts, chains and index together, as an estimate of what they take on the heap.
  std::uint64_t max_memory = std::uint64_t{1} << 30;
};

}  // namespace offramp
