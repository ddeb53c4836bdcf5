// SPDX-License-Identifier: Apache-2.0
#include "container/record.hpp"

#include "container/part_check.hpp"
#include "core/bytes.hpp"
#include "core/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace offramp {
namespace {

using layout::Kind;

Error fault(ErrorCode code, std::string what) {
  return Error{.code = code, .what = std::move(what), .path = {}, .remedy = {}};
}

struct Fields {
  std::byte* at;
  template <class T>
  void put(T value) noexcept {
    store(at, value);
    at += sizeof value;
  }
  void put_bytes(const void* from, std::size_t size) noexcept {
    if (size > 0) std::memcpy(at, from, size);
    at += size;
  }
};

Shape take_shape(ByteCursor& from, std::size_t rank) {
  std::array<std::uint64_t, Shape::max_rank> extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) extents[axis] = from.take<std::uint64_t>();
  return Shape(std::span<const std::uint64_t>(extents.data(), rank));
}

Result<void> parse_part(ByteCursor& cursor, std::uint16_t flags, RecordHeader& header) {
  const bool whole = (flags & layout::flag_whole) != 0;
  header.raw_size = cursor.take<std::uint64_t>();
  header.part.first_elem = cursor.take<std::uint64_t>();
  const auto dtype_id = cursor.take<std::uint8_t>();
  const std::size_t rank = cursor.take<std::uint8_t>();
  const std::size_t part_rank = cursor.take<std::uint8_t>();
  const auto reserved = cursor.take<std::uint8_t>();
  const auto name_size = cursor.take<std::uint32_t>();
  const auto chain_size = cursor.take<std::uint32_t>();
  if (!cursor.ok()) return fault(ErrorCode::bad_header, "header too small for a tensor part");
  if (rank > Shape::max_rank || part_rank > Shape::max_rank) {
    return fault(ErrorCode::bad_header, fmt::format("rank {}, at most {} is allowed",
                                                    std::max(rank, part_rank), Shape::max_rank));
  }
  if (reserved != 0 || (whole && (part_rank != 0 || header.part.first_elem != 0))) {
    return fault(ErrorCode::bad_header, "flags and fields that contradict each other");
  }
  header.part.tensor.shape = take_shape(cursor, rank);
  header.part.part = whole ? header.part.tensor.shape : take_shape(cursor, part_rank);
  const auto name = cursor.take_bytes(name_size);
  header.part.chain = cursor.take_bytes(chain_size);
  if (!cursor.ok()) return fault(ErrorCode::bad_header, "name or codec chain beyond the header");
  header.part.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  const auto dtype = dtype_from_id(dtype_id);
  if (!dtype) {
    return Error{.code = ErrorCode::unknown_dtype,
                 .what = fmt::format("unknown element type {}", dtype_id),
                 .path = {},
                 .remedy = "a newer offramp may know it"};
  }
  header.part.tensor.dtype = *dtype;
  OFFRAMP_TRY(raw_size, check_part(header.part));
  if (raw_size != header.raw_size) {
    return fault(ErrorCode::bad_header,
                 fmt::format("raw size {} is not the part's {}", header.raw_size, raw_size));
  }
  return {};
}

}  // namespace

std::size_t part_fields_size(const PartRecord& part, bool whole) noexcept {
  return layout::part_fields_size + 8 * part.tensor.shape.rank() + part.name.size() +
         part.chain.size() + (whole ? 0 : 8 * part.part.rank());
}

std::size_t record_header_size(std::uint64_t offset, std::size_t fields) noexcept {
  const auto at = static_cast<std::size_t>(offset);
  return round_up(at + layout::record_prefix_size + fields, layout::payload_alignment) - at;
}

void write_record_header(const RecordHeader& header, std::vector<std::byte>& out) {
  const bool is_part = header.kind == Kind::part;
  const PartRecord& part = header.part;
  const bool whole = is_part && is_whole(part);
  const std::size_t fields = is_part ? part_fields_size(part, whole) : 0;
  const std::size_t size = record_header_size(header.offset, fields);
  out.assign(size, std::byte{});
  Fields to{out.data()};
  to.put(layout::record_magic);
  to.put(std::uint64_t{0});  // checksum, below
  to.put(header.offset);
  to.put(static_cast<std::uint32_t>(size));
  to.put(static_cast<std::uint16_t>(header.kind));
  to.put(static_cast<std::uint16_t>(whole ? layout::flag_whole : 0));
  to.put(header.payload_size);
  to.put(header.payload_checksum);
  if (is_part) {
    const auto part_extents = whole ? std::span<const std::uint64_t>{} : part.part.extents();
    to.put(header.raw_size);
    to.put(part.first_elem);
    to.put(static_cast<std::uint8_t>(part.tensor.dtype));
    to.put(static_cast<std::uint8_t>(part.tensor.shape.rank()));
    to.put(static_cast<std::uint8_t>(part_extents.size()));
    to.put(std::uint8_t{0});
    to.put(static_cast<std::uint32_t>(part.name.size()));
    to.put(static_cast<std::uint32_t>(part.chain.size()));
    for (const auto extent : part.tensor.shape.extents()) to.put(extent);
    for (const auto extent : part_extents) to.put(extent);
    to.put_bytes(part.name.data(), part.name.size());
    to.put_bytes(part.chain.data(), part.chain.size());
  }
  store(out.data() + 8, xxh3_64(std::span(out).subspan(16)));
}

Result<RecordPrefix> parse_record_prefix(std::span<const std::byte> bytes, std::uint64_t left) {
  const std::size_t magic_there = std::min(bytes.size(), layout::record_magic.size());
  if (magic_there > 0 && std::memcmp(bytes.data(), layout::record_magic.data(), magic_there) != 0) {
    return fault(ErrorCode::bad_magic, "no record starts here");
  }
  if (bytes.size() < layout::record_prefix_size) {
    return fault(ErrorCode::truncated, "the file ends inside a record's header");
  }
  const auto stated_offset = load<std::uint64_t>(bytes.data() + 16);
  const auto header_size = load<std::uint32_t>(bytes.data() + 24);
  if (header_size < layout::record_prefix_size || header_size > max_header_size ||
      (stated_offset + header_size) % layout::payload_alignment != 0) {
    return fault(ErrorCode::bad_header, fmt::format("header size {}", header_size));
  }
  if (header_size > left) {
    return fault(ErrorCode::truncated, "the file ends inside a record's header");
  }
  return RecordPrefix{header_size, stated_offset};
}

Result<RecordHeader> parse_record_header(std::span<const std::byte> bytes, std::uint64_t left) {
  if (load<std::uint64_t>(bytes.data() + 8) != xxh3_64(bytes.subspan(16))) {
    return fault(ErrorCode::bad_checksum, "the checksum of a record's header does not match");
  }
  ByteCursor cursor(bytes.subspan(16));
  RecordHeader header;
  header.offset = cursor.take<std::uint64_t>();
  header.header_size = cursor.take<std::uint32_t>();
  const auto kind = cursor.take<std::uint16_t>();
  const auto flags = cursor.take<std::uint16_t>();
  header.payload_size = cursor.take<std::uint64_t>();
  header.payload_checksum = cursor.take<std::uint64_t>();
  if (kind < 1 || kind > static_cast<std::uint16_t>(Kind::index)) {
    return fault(ErrorCode::bad_header, fmt::format("unknown kind of record {}", kind));
  }
  header.kind = static_cast<Kind>(kind);
  const std::uint16_t known_flags = header.kind == Kind::part ? layout::flag_whole : 0;
  if ((flags & ~known_flags) != 0) {
    return fault(ErrorCode::bad_header, fmt::format("unknown flags {:#x}", flags));
  }
  if (header.kind == Kind::part) OFFRAMP_TRY_VOID(parse_part(cursor, flags, header));
  const auto padding = cursor.take_bytes(cursor.left());
  if (padding.size() >= layout::payload_alignment ||
      std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{}; })) {
    return fault(ErrorCode::bad_header, "bytes behind the fields of a header");
  }
  if (header.payload_size > left - header.header_size) {
    return fault(ErrorCode::truncated,
                 fmt::format("the file ends inside a payload of {} bytes", header.payload_size));
  }
  return header;
}

}  // namespace offramp
