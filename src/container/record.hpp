// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/layout.hpp"

#include <offramp/container/archive_writer.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace offramp {

/// A record's header (docs/format.md, Record). Views into the bytes that it was parsed from.
struct RecordHeader {
  layout::Kind kind{layout::Kind::part};
  std::uint64_t offset{};  ///< as stated
  std::uint32_t header_size{};
  std::uint64_t payload_size{};
  std::uint64_t payload_checksum{};
  std::uint64_t raw_size{};  ///< of a part
  PartRecord part{};         ///< of a part
};

/// Bytes of a part's fields; `whole`: flag bit 0 is set, and the part's own shape left out.
[[nodiscard]] std::size_t part_fields_size(const PartRecord& part, bool whole) noexcept;

/// Size of the header of a record at `offset` with so many bytes of fields, padding included.
[[nodiscard]] std::size_t record_header_size(std::uint64_t offset, std::size_t fields) noexcept;

/// Replaces `out` with the header, which gets the record's `offset`; its size is a function of
/// both.
void write_record_header(const RecordHeader& header, std::vector<std::byte>& out);

/// What the first 48 bytes tell before the checksum can be checked: enough to read the rest.
struct RecordPrefix {
  std::uint32_t header_size{};
  std::uint64_t stated_offset{};
};

/// `left` counts the file's bytes from the record's start; `bytes` are up to 48 of them. Errors:
/// truncated, bad_magic, bad_header.
Result<RecordPrefix> parse_record_prefix(std::span<const std::byte> bytes, std::uint64_t left);

/// `bytes` is the whole header. Errors: bad_checksum, truncated (the payload ends behind the file),
/// bad_header, bad_name, unknown_dtype. Does not compare the stated offset with anything.
Result<RecordHeader> parse_record_header(std::span<const std::byte> bytes, std::uint64_t left);

}  // namespace offramp
