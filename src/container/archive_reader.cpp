// SPDX-License-Identifier: Apache-2.0
#include "container/index.hpp"
#include "container/layout.hpp"
#include "container/metadata.hpp"
#include "container/part_check.hpp"
#include "container/record_access.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "core/hash.hpp"

#include <offramp/container/archive_reader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace offramp {
namespace {

using layout::Kind;

constexpr std::string_view recover_remedy = "recover saves the whole records";
constexpr std::string_view nothing_remedy =
    "no whole part stands before it, so there may be nothing that recover can save";

Error fault(ErrorCode code, std::string what, std::string_view remedy = recover_remedy) {
  return Error{.code = code, .what = std::move(what), .path = {}, .remedy = std::string(remedy)};
}

// What a cut or a flipped bit can do. Anything else was written so, and no walk makes it better.
bool is_damage(ErrorCode code) noexcept {
  return code == ErrorCode::truncated || code == ErrorCode::bad_magic ||
         code == ErrorCode::bad_checksum || code == ErrorCode::bad_header;
}

Result<std::uint32_t> read_file_header(const RandomAccess& file) {
  std::array<std::byte, layout::file_header_size> bytes{};
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file.size()));
  OFFRAMP_TRY_VOID(read_bytes(file, 0, std::span(bytes).first(there)));
  if (std::memcmp(bytes.data(), layout::file_magic.data(),
                  std::min(there, layout::file_magic.size())) != 0) {
    return fault(ErrorCode::bad_magic, "not an offramp archive", "check that it is an .ofr file");
  }
  if (there < bytes.size()) {
    return fault(ErrorCode::truncated, fmt::format("only {} bytes, too few for an archive", there),
                 "nothing is left to recover");
  }
  const auto version = load<std::uint32_t>(bytes.data() + 8);
  if (version < min_archive_version || version > max_archive_version) {
    return fault(ErrorCode::bad_version,
                 fmt::format("archive format version {}, this build reads {} to {}", version,
                             min_archive_version, max_archive_version),
                 "use a newer offramp");
  }
  if (load<std::uint32_t>(bytes.data() + 12) != 0) {
    return fault(ErrorCode::bad_header, "reserved bytes of the file header are not 0");
  }
  return version;
}

Result<Contents> read_by_index(const RandomAccess& file, const ReaderLimits& limits) {
  constexpr std::size_t least =
      layout::file_header_size + layout::record_prefix_size + layout::footer_size;
  if (file.size() < least) {
    return fault(ErrorCode::truncated, "the archive ends without an index");
  }
  std::array<std::byte, layout::footer_size> footer{};
  const std::uint64_t footer_offset = file.size() - footer.size();
  OFFRAMP_TRY_VOID(read_bytes(file, footer_offset, footer));
  if (std::memcmp(footer.data() + 24, layout::footer_magic.data(), 8) != 0) {
    return fault(ErrorCode::truncated, "the archive does not end with a footer");
  }
  if (load<std::uint64_t>(footer.data() + 16) != xxh3_64(std::span(footer).first(16))) {
    return fault(ErrorCode::bad_checksum, "the checksum of the footer does not match");
  }
  const auto index_offset = load<std::uint64_t>(footer.data());
  if (load<std::uint64_t>(footer.data() + 8) != file.size() ||
      index_offset < layout::file_header_size || index_offset >= footer_offset) {
    return fault(ErrorCode::bad_header, "the footer is not of a file of this size");
  }
  RecordAccess records(file);
  auto header = records.read_header(index_offset);
  if (!header) return at_record(std::move(header.error()), index_offset);
  if (header->kind != Kind::index ||
      index_offset + header->header_size + header->payload_size != footer_offset) {
    return fault(ErrorCode::bad_header, "the footer does not lead to an index");
  }
  if (header->payload_size > limits.max_memory) {
    return fault(ErrorCode::limit_exceeded,
                 fmt::format("an index of {} bytes is over the limit of {}", header->payload_size,
                             limits.max_memory),
                 "raise the limit if you trust the file");
  }
  std::vector<std::byte> payload(static_cast<std::size_t>(header->payload_size));
  if (auto read = read_checked_payload(file, index_offset, *header, payload); !read) {
    return at_record(std::move(read.error()), index_offset);
  }
  return parse_index(payload, index_offset, limits);
}

// Adds the records from the first to the last whole one; says why it ended, or nothing at an index.
// A Result of an optional: what is no damage refuses the file.
Result<std::optional<Error>> walk(const RandomAccess& file, const ReaderLimits& limits,
                                  Contents& contents) {
  RecordAccess records(file);
  std::uint64_t offset = layout::file_header_size;
  // Behind a cut there is nothing; behind damage recover may find more.
  const auto remedy = [&](ErrorCode code) {
    const bool nothing = code == ErrorCode::truncated && contents.catalog.tensors().empty();
    return nothing ? nothing_remedy : recover_remedy;
  };
  while (true) {
    contents.records_end = offset;
    if (offset == file.size()) {
      return std::optional(fault(
          ErrorCode::truncated, fmt::format("the archive ends at byte {} without an index", offset),
          remedy(ErrorCode::truncated)));
    }
    auto header = records.read_header(offset);
    if (!header) {
      Error error = at_record(std::move(header.error()), offset);
      if (!is_damage(error.code)) return error;
      if (error.remedy.empty()) error.remedy = remedy(error.code);
      return std::optional(std::move(error));
    }
    const RecordPlace place{offset, header->header_size, header->payload_size};
    Result<void> added;
    switch (header->kind) {
      case Kind::part:
        added = check_limits(limits, header->payload_size, header->raw_size);
        if (added) added = contents.catalog.add(header->part, header->raw_size, place);
        break;
      case Kind::metadata:
        added = contents.catalog.add_other();
        contents.metadata.push_back(place);
        break;
      case Kind::index:
        return std::optional<Error>();
    }
    if (!added) return at_record(std::move(added.error()), offset);
    offset += header->header_size + header->payload_size;
  }
}

}  // namespace

struct ArchiveReader::Impl {
  std::unique_ptr<RandomAccess> file;
  ReaderLimits limits;
  std::uint32_t version{};
  Contents contents;
  bool complete{};
  Error damage{};
  std::uint64_t part_count{};
  std::uint64_t max_payload_size{};
  std::uint64_t max_raw_size{};

  Impl(std::unique_ptr<RandomAccess> from, const ReaderLimits& with)
      : file(std::move(from)), limits(with), contents(with) {}

  Result<void> open() {
    OFFRAMP_TRY(read_version, read_file_header(*file));
    version = read_version;
    auto indexed = read_by_index(*file, limits);
    complete = indexed.has_value();
    if (complete) {
      contents = std::move(*indexed);
    } else {
      if (!is_damage(indexed.error().code)) return std::move(indexed.error());
      OFFRAMP_TRY(ended, walk(*file, limits, contents));
      OFFRAMP_TRY_VOID(contents.catalog.seal());
      damage = (ended ? std::move(*ended) : std::move(indexed.error())).in(file->name());
    }
    for (const ArchiveTensor& tensor : contents.catalog.tensors()) {
      part_count += tensor.parts.size();
      for (const ArchivePart& part : tensor.parts) {
        max_payload_size = std::max(max_payload_size, part.payload_size);
        max_raw_size = std::max(max_raw_size, part.raw_size);
      }
    }
    return {};
  }

  Error in_record(Error error, std::uint64_t offset) const {
    if (error.remedy.empty()) error.remedy = recover_remedy;
    return at_record(std::move(error), offset).in(file->name());
  }
};

Result<ArchiveReader> ArchiveReader::open(std::string path, const ReaderLimits& limits) {
  return open(std::make_unique<FileAccess>(InputFile(std::move(path))), limits);
}

Result<ArchiveReader> ArchiveReader::open(std::unique_ptr<RandomAccess> access,
                                          const ReaderLimits& limits) {
  OFFRAMP_EXPECTS(access, "an archive reader needs something to read");
  auto impl = std::make_unique<Impl>(std::move(access), limits);
  if (auto opened = impl->open(); !opened) {
    return std::move(opened.error()).in(impl->file->name());
  }
  return ArchiveReader(std::move(impl));
}

ArchiveReader::ArchiveReader(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;
ArchiveReader::~ArchiveReader() = default;

const std::string& ArchiveReader::name() const noexcept { return impl_->file->name(); }
std::uint64_t ArchiveReader::size() const noexcept { return impl_->file->size(); }
std::uint32_t ArchiveReader::version() const noexcept { return impl_->version; }
bool ArchiveReader::complete() const noexcept { return impl_->complete; }
std::uint64_t ArchiveReader::records_end() const noexcept { return impl_->contents.records_end; }
const Error& ArchiveReader::damage() const noexcept { return impl_->damage; }
std::uint64_t ArchiveReader::part_count() const noexcept { return impl_->part_count; }
std::uint64_t ArchiveReader::max_payload_size() const noexcept { return impl_->max_payload_size; }
std::uint64_t ArchiveReader::max_raw_size() const noexcept { return impl_->max_raw_size; }

std::span<const ArchiveTensor> ArchiveReader::tensors() const noexcept {
  return impl_->contents.catalog.tensors();
}

const ArchiveTensor* ArchiveReader::find(std::string_view name) const noexcept {
  return impl_->contents.catalog.find(name);
}

std::span<const std::byte> ArchiveReader::chain(const ArchivePart& part) const noexcept {
  return impl_->contents.catalog.chain(part.chain);
}

Result<void> ArchiveReader::read_payload(const ArchiveTensor& tensor, const ArchivePart& part,
                                         std::span<std::byte> out) const {
  OFFRAMP_EXPECTS(out.size() == part.payload_size, "the buffer is not of the payload's size");
  RecordAccess records(*impl_->file);
  auto header = records.read_header(part.record_offset);
  if (!header) return impl_->in_record(std::move(header.error()), part.record_offset);
  const bool agrees =
      header->kind == Kind::part && header->header_size == part.header_size &&
      header->payload_size == part.payload_size && header->part.name == tensor.name &&
      header->part.tensor == tensor.desc && header->part.first_elem == part.first_elem &&
      header->part.part == part.shape && std::ranges::equal(header->part.chain, chain(part));
  if (!agrees) {
    return impl_->in_record(fault(ErrorCode::mismatch, "it is not what the index says"),
                            part.record_offset);
  }
  if (auto read = read_checked_payload(*impl_->file, part.record_offset, *header, out); !read) {
    return impl_->in_record(std::move(read.error()), part.record_offset);
  }
  return {};
}

Result<Metadata> ArchiveReader::metadata() const {
  Metadata pairs;
  RecordAccess records(*impl_->file);
  for (const RecordPlace& place : impl_->contents.metadata) {
    const auto read = [&]() -> Result<void> {
      OFFRAMP_TRY(header, records.read_header(place.offset));
      if (header.kind != Kind::metadata || header.header_size != place.header_size ||
          header.payload_size != place.payload_size) {
        return fault(ErrorCode::mismatch, "it is not what the index says");
      }
      if (header.payload_size > impl_->limits.max_metadata_size) {
        return fault(ErrorCode::limit_exceeded,
                     fmt::format("metadata of {} bytes is over the limit of {}",
                                 header.payload_size, impl_->limits.max_metadata_size),
                     "raise the limit if you trust the file");
      }
      std::vector<std::byte> payload(static_cast<std::size_t>(header.payload_size));
      OFFRAMP_TRY_VOID(read_checked_payload(*impl_->file, place.offset, header, payload));
      return parse_metadata(payload, pairs);
    };
    if (auto done = read(); !done) return impl_->in_record(std::move(done.error()), place.offset);
  }
  if (auto unique = check_unique_keys(pairs); !unique) return std::move(unique.error()).in(name());
  return pairs;
}

}  // namespace offramp
