// SPDX-License-Identifier: Apache-2.0
#include "container/record_access.hpp"

#include "core/hash.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace offramp {

Result<void> read_bytes(const RandomAccess& from, std::uint64_t offset, std::span<std::byte> out) {
  try {
    from.read(offset, out);
    return {};
  } catch (const DataError& error) {
    return error.error();
  }
}

Result<RecordHeader> RecordAccess::read_header_anywhere(std::uint64_t offset) {
  const std::uint64_t left = from_->size() - offset;
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(small_.size(), left));
  std::span<std::byte> bytes(small_.data(), there);
  bytes_read_ += there;
  OFFRAMP_TRY_VOID(read_bytes(*from_, offset, bytes));
  OFFRAMP_TRY(prefix,
              parse_record_prefix(bytes.first(std::min(there, layout::record_prefix_size)), left));
  if (prefix.header_size > there) {
    large_.resize(prefix.header_size);  // at most max_header_size, and inside the file
    bytes = large_;
    bytes_read_ += bytes.size();
    OFFRAMP_TRY_VOID(read_bytes(*from_, offset, bytes));
  }
  return parse_record_header(bytes.first(prefix.header_size), left);
}

Result<RecordHeader> RecordAccess::read_header(std::uint64_t offset) {
  auto header = read_header_anywhere(offset);
  if (header && header->offset != offset) {
    return Error{.code = ErrorCode::bad_header,
                 .what = fmt::format("it states that it is at byte {}", header->offset),
                 .path = {},
                 .remedy = {}};
  }
  return header;
}

Result<void> read_checked_payload(const RandomAccess& from, std::uint64_t offset,
                                  const RecordHeader& header, std::span<std::byte> out) {
  OFFRAMP_TRY_VOID(read_bytes(from, offset + header.header_size, out));
  if (xxh3_64(out) != header.payload_checksum) {
    return Error{.code = ErrorCode::bad_checksum,
                 .what = "the checksum of its payload does not match",
                 .path = {},
                 .remedy = {}};
  }
  return {};
}

Error at_record(Error error, std::uint64_t offset) {
  error.what = fmt::format("record at byte {}: {}", offset, error.what);
  return error;
}

}  // namespace offramp
