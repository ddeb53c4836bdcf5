// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/container/random_access.hpp>
#include <offramp/core/result.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace offramp {

/// What `recover_archive` saved and what it could not.
struct RecoverReport {
  struct Lost {
    std::uint64_t begin{};  ///< bytes of the damaged file
    std::uint64_t end{};
    std::string tensor{};  ///< the tensor it belonged to, where the header could be read
    Error why{};
  };

  std::uint64_t parts{};                  ///< copied
  std::uint64_t payload_bytes{};          ///< of those
  std::uint64_t metadata_records{};       ///< copied
  std::uint64_t lost_bytes{};             ///< of all ranges, also those not listed
  std::vector<Lost> lost{};               ///< the first 1000 ranges
  std::vector<std::string> incomplete{};  ///< tensors that miss elements, of those with a part
  bool had_index{};  ///< the archive's end was reached: nothing is missing behind

  [[nodiscard]] bool lossless() const noexcept { return had_index && lost_bytes == 0; }
};

struct RecoverSettings {
  ReaderLimits limits{};
  /// Told the bytes looked at so far; returns false to stop. May be empty.
  std::function<bool(std::uint64_t done, std::uint64_t size)> progress{};
};

/// Copies every whole record of a damaged archive, checksums checked, in order, and goes on behind
/// damage at the next record it finds. Does not call `out.finish()`. Takes memory for one payload.
///
/// Only a file that holds no archive at all is refused (bad_magic, bad_version), or one stopped by
/// `progress` (cancelled).
/// @throws IoError from either side.
Result<RecoverReport> recover_archive(const RandomAccess& in, ArchiveWriter& out,
                                      const RecoverSettings& settings = {});

}  // namespace offramp
