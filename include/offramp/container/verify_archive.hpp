// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_reader.hpp>

#include <cstdint>
#include <vector>

namespace offramp {

/// What `verify_archive` found.
struct VerifyReport {
  std::uint64_t parts{};          ///< whose checksums match
  std::uint64_t payload_bytes{};  ///< of those
  std::uint64_t faults{};         ///< all faults
  std::vector<Error> errors{};    ///< the first 100 of them

  [[nodiscard]] bool sound() const noexcept { return faults == 0; }
};

/// Checks every checksum of the archive, that each record says what the index says, and that no
/// tensor misses elements. Decodes nothing. Takes memory for the largest payload.
/// @throws IoError.
VerifyReport verify_archive(const ArchiveReader& reader);

}  // namespace offramp
