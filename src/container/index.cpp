// SPDX-License-Identifier: Apache-2.0
#include "container/index.hpp"

#include "container/part_check.hpp"
#include "container/record.hpp"
#include "container/varint.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace offramp {
namespace {

using layout::Kind;

Error bad_index(std::string_view what) {
  return Error{.code = ErrorCode::bad_header,
               .what = fmt::format("index: {}", what),
               .path = {},
               .remedy = {}};
}

void append_bytes(std::vector<std::byte>& to, const void* from, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + size);
}

void append_extents(std::vector<std::byte>& to, const Shape& shape) {
  to.push_back(static_cast<std::byte>(shape.rank()));
  for (const auto extent : shape.extents()) append_varint(to, extent);
}

// Reads fields off the index; a field that does not fit ends it: every later read gives 0.
struct Reader {
  ByteCursor cursor;
  bool ok{true};

  std::uint64_t varint() {
    const auto value = take_varint(cursor);
    ok = ok && value;
    return ok ? *value : 0;
  }
  std::uint8_t byte() {
    const auto value = cursor.take<std::uint8_t>();
    ok = ok && cursor.ok();
    return ok ? value : std::uint8_t{0};
  }
  std::span<const std::byte> bytes(std::uint64_t size) {
    const auto value = cursor.take_bytes(static_cast<std::size_t>(size));
    ok = ok && cursor.ok();
    return ok ? value : std::span<const std::byte>{};
  }
  Shape shape() {
    const std::size_t rank = byte();
    std::array<std::uint64_t, Shape::max_rank> extents{};
    if (rank > extents.size()) ok = false;
    for (std::size_t axis = 0; ok && axis < rank; ++axis) extents[axis] = varint();
    return Shape(std::span<const std::uint64_t>(extents.data(), ok ? rank : 0));
  }
};

struct PartEntry {
  std::string name;  // outlives entries: the next may share its front
  TensorDesc tensor{};
  bool any{};
  bool whole{};
};

Result<PartRecord> read_part(Reader& from, PartEntry& last,
                             std::span<const std::span<const std::byte>> chains) {
  const auto flags = from.byte();
  const bool whole = last.whole = (flags & layout::index_whole) != 0;
  const bool same_tensor = (flags & layout::index_same_tensor) != 0;
  if (flags > 3 || (same_tensor && !last.any)) return bad_index("unknown flags");
  if (!same_tensor) {
    const auto shared = from.varint();
    const auto rest = from.bytes(from.varint());
    if (!from.ok || shared > last.name.size() || rest.size() > max_name_size - shared) {
      return bad_index("malformed name");
    }
    last.name.resize(static_cast<std::size_t>(shared));
    last.name.append(reinterpret_cast<const char*>(rest.data()), rest.size());
    const auto dtype_id = from.byte();
    last.tensor.shape = from.shape();
    if (!from.ok) return bad_index("it ends inside an entry");
    const auto dtype = dtype_from_id(dtype_id);
    if (!dtype) {
      return Error{
          .code = ErrorCode::unknown_dtype,
          .what = fmt::format("tensor {}: unknown element type {}", printable(last.name), dtype_id),
          .path = {},
          .remedy = "a newer offramp may know it"};
    }
    last.tensor.dtype = *dtype;
    last.any = true;
  }
  PartRecord part{.name = last.name, .tensor = last.tensor, .part = last.tensor.shape};
  const auto chain = from.varint();
  if (!whole) {
    part.first_elem = from.varint();
    part.part = from.shape();
  }
  if (!from.ok || chain >= chains.size()) return bad_index("it ends inside an entry");
  part.chain = chains[static_cast<std::size_t>(chain)];
  return part;
}

}  // namespace

void IndexBuilder::add_place(Kind kind, const RecordPlace& place) {
  entries_.push_back(static_cast<std::byte>(kind));
  append_varint(entries_, place.header_size);
  append_varint(entries_, place.payload_size);
  ++records_;
}

void IndexBuilder::add_metadata(const RecordPlace& place) { add_place(Kind::metadata, place); }

void IndexBuilder::add_part(const PartRecord& part, std::uint32_t chain, const RecordPlace& place) {
  add_place(Kind::part, place);
  const bool whole = is_whole(part);
  const bool same_tensor = any_part_ && part.name == name_;
  entries_.push_back(static_cast<std::byte>((whole ? layout::index_whole : 0) |
                                            (same_tensor ? layout::index_same_tensor : 0)));
  if (!same_tensor) {
    const auto ends = std::ranges::mismatch(part.name, name_);
    const auto shared = static_cast<std::size_t>(ends.in1 - part.name.begin());
    append_varint(entries_, shared);
    append_varint(entries_, part.name.size() - shared);
    append_bytes(entries_, part.name.data() + shared, part.name.size() - shared);
    entries_.push_back(static_cast<std::byte>(part.tensor.dtype));
    append_extents(entries_, part.tensor.shape);
    name_ = part.name;
    any_part_ = true;
  }
  append_varint(entries_, chain);
  if (!whole) {
    append_varint(entries_, part.first_elem);
    append_extents(entries_, part.part);
  }
}

std::vector<std::byte> IndexBuilder::finish(const Catalog& catalog) const {
  std::vector<std::byte> payload;
  append_varint(payload, catalog.chain_count());
  for (std::uint32_t number = 0; number < catalog.chain_count(); ++number) {
    const auto chain = catalog.chain(number);
    append_varint(payload, chain.size());
    append_bytes(payload, chain.data(), chain.size());
  }
  append_varint(payload, records_);
  payload.insert(payload.end(), entries_.begin(), entries_.end());
  return payload;
}

Result<Contents> parse_index(std::span<const std::byte> payload, std::uint64_t index_offset,
                             const ReaderLimits& limits) {
  Reader from{ByteCursor(payload)};
  const auto chain_count = from.varint();
  // Each chain takes two bytes at least, each record three: counts beyond that are not believed.
  if (!from.ok || chain_count > from.cursor.left() / 2) return bad_index("count of chains");
  if (chain_count > limits.max_memory / sizeof(std::span<const std::byte>)) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("index: {} codec chains", chain_count),
                 .path = {},
                 .remedy = "raise the limit if you trust the file"};
  }
  std::vector<std::span<const std::byte>> chains;
  for (std::uint64_t i = 0; i < chain_count; ++i) {
    chains.push_back(from.bytes(from.varint()));
    if (!from.ok) return bad_index("it ends inside a chain");
  }
  const auto records = from.varint();
  if (!from.ok || records > from.cursor.left() / 3) return bad_index("count of records");

  Contents contents(limits);
  PartEntry last;
  std::uint64_t offset = layout::file_header_size;
  for (std::uint64_t i = 0; i < records; ++i) {
    const auto kind = from.byte();
    const auto header_size = from.varint();
    const auto payload_size = from.varint();
    const std::uint64_t left = index_offset - offset;
    if (!from.ok || header_size < layout::record_prefix_size || header_size > max_header_size ||
        header_size > left || payload_size > left - header_size ||
        (offset + header_size) % layout::payload_alignment != 0) {
      return bad_index(fmt::format("size of record {}", i));
    }
    // A header's size follows from its fields, so names take no more memory than their records do.
    const auto fits = [&](std::size_t fields) {
      return header_size == record_header_size(offset, fields);
    };
    const RecordPlace place{offset, static_cast<std::uint32_t>(header_size), payload_size};
    if (kind == static_cast<std::uint8_t>(Kind::part)) {
      OFFRAMP_TRY(part, read_part(from, last, chains));
      if (!fits(part_fields_size(part, last.whole))) {
        return bad_index(fmt::format("size of record {}", i));
      }
      OFFRAMP_TRY(raw_size, check_part(part));
      OFFRAMP_TRY_VOID(check_limits(limits, payload_size, raw_size));
      OFFRAMP_TRY_VOID(contents.catalog.add(part, raw_size, place));
    } else if (kind == static_cast<std::uint8_t>(Kind::metadata)) {
      if (!fits(0)) return bad_index(fmt::format("size of record {}", i));
      OFFRAMP_TRY_VOID(contents.catalog.add_other());
      contents.metadata.push_back(place);
    } else {
      return bad_index(fmt::format("unknown kind of record {}", kind));
    }
    offset += header_size + payload_size;
  }
  if (from.cursor.left() != 0) return bad_index("bytes behind the last entry");
  if (offset != index_offset) return bad_index("the records do not reach the index");
  OFFRAMP_TRY_VOID(contents.catalog.seal());
  contents.records_end = offset;
  return contents;
}

}  // namespace offramp
