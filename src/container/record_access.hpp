// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/record.hpp"

#include <offramp/container/random_access.hpp>
#include <offramp/core/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace offramp {

/// Fills `out`; a file that ends before is an error, not an exception. @throws IoError.
Result<void> read_bytes(const RandomAccess& from, std::uint64_t offset, std::span<std::byte> out);

/// Reads record headers. What it returns has views into it, good until the next read.
class RecordAccess {
 public:
  explicit RecordAccess(const RandomAccess& from) noexcept : from_(&from) {}
  RecordAccess(const RecordAccess&) = delete;
  RecordAccess& operator=(const RecordAccess&) = delete;

  /// The header of the record at `offset`, sound in itself, whose payload is inside the file. The
  /// offset that it states is the caller's to judge. Errors name no file. @throws IoError.
  Result<RecordHeader> read_header_anywhere(std::uint64_t offset);

  /// The same, and it states just this offset.
  Result<RecordHeader> read_header(std::uint64_t offset);

  /// Bytes read so far, to put a bound on the work that a hostile file can ask for.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  const RandomAccess* from_;
  std::uint64_t bytes_read_{};
  std::array<std::byte, 1024> small_;  // enough for nearly all
  std::vector<std::byte> large_;
};

/// Reads the payload behind a header into `out`, of its size, and checks it. Errors: truncated,
/// bad_checksum. @throws IoError.
Result<void> read_checked_payload(const RandomAccess& from, std::uint64_t offset,
                                  const RecordHeader& header, std::span<std::byte> out);

/// The error, said to be of the record at `offset`.
Error at_record(Error error, std::uint64_t offset);

}  // namespace offramp
