// SPDX-License-Identifier: Apache-2.0
#include "container/catalog.hpp"
#include "container/index.hpp"
#include "container/layout.hpp"
#include "container/metadata.hpp"
#include "container/part_check.hpp"
#include "container/record.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "core/hash.hpp"
#include "core/utf8.hpp"

#include <offramp/container/archive_writer.hpp>

#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

namespace offramp {

using layout::Kind;

struct ArchiveWriter::Impl {
  std::unique_ptr<ByteSink> sink;
  std::uint64_t size{};
  std::vector<std::byte> header;  // reused, so that a part costs no allocation
  Catalog catalog{ReaderLimits{}};
  IndexBuilder index;
  std::set<std::string> metadata_keys;
  // Set while state and file may disagree, and for good where a call did not come back.
  bool lost{};

  void expect_open() const {
    OFFRAMP_EXPECTS(!lost, "an archive that is finished or failed takes nothing more");
  }

  void put(std::span<const std::span<const std::byte>> pieces) {
    sink->append(pieces);
    for (const auto piece : pieces) size += piece.size();
  }

  // Makes the header, so that the record's place is known before it is written.
  RecordPlace make_header(RecordHeader record, std::span<const std::byte> payload) {
    return make_header(std::move(record), payload, checksum(payload));
  }

  RecordPlace make_header(RecordHeader record, std::span<const std::byte> payload,
                          std::uint64_t payload_checksum) {
    record.offset = size;
    record.payload_size = payload.size();
    record.payload_checksum = payload_checksum;
    write_record_header(record, header);
    return {size, static_cast<std::uint32_t>(header.size()), payload.size()};
  }

  void put_record(std::span<const std::byte> payload) {
    put(std::array<std::span<const std::byte>, 2>{header, payload});
  }
};

ArchiveWriter::ArchiveWriter(std::unique_ptr<ByteSink> sink, Settings settings)
    : impl_(std::make_unique<Impl>()) {
  OFFRAMP_EXPECTS(sink, "an archive writer needs a sink");
  OFFRAMP_EXPECTS(
      settings.version >= min_archive_version && settings.version <= max_archive_version,
      "this build does not write that version of the archive format");
  impl_->sink = std::move(sink);
  std::array<std::byte, layout::file_header_size> bytes{};
  store(bytes.data(), layout::file_magic);
  store(bytes.data() + 8, settings.version);
  impl_->put(std::array<std::span<const std::byte>, 1>{bytes});
}

ArchiveWriter::ArchiveWriter(std::string path, OutputFile::Existing existing)
    : ArchiveWriter(std::make_unique<FileSink>(OutputFile(std::move(path), existing))) {}

ArchiveWriter::ArchiveWriter(ArchiveWriter&&) noexcept = default;
ArchiveWriter& ArchiveWriter::operator=(ArchiveWriter&&) noexcept = default;
ArchiveWriter::~ArchiveWriter() = default;

std::uint64_t ArchiveWriter::checksum(std::span<const std::byte> payload) noexcept {
  return xxh3_64(payload);
}

void ArchiveWriter::append(const PartRecord& record, std::span<const std::byte> payload) {
  append(record, payload, checksum(payload));
}

void ArchiveWriter::append(const PartRecord& record, std::span<const std::byte> payload,
                           std::uint64_t checksum) {
  impl_->expect_open();
  const auto raw_size = check_part(record);
  if (!raw_size) {
    if (raw_size.error().code != ErrorCode::bad_name) throw LogicError(raw_size.error().message());
    throw DataError(Error(raw_size.error()).in(name()));
  }
  if (auto sound = check_limits(ReaderLimits{}, payload.size(), *raw_size); !sound) {
    throw LogicError(sound.error().message());
  }
  if (auto sound = impl_->catalog.check(record); !sound) {
    throw DataError(std::move(sound.error()).in(name()));
  }

  impl_->lost = true;
  const RecordPlace place = impl_->make_header(
      {.kind = Kind::part, .raw_size = *raw_size, .part = record}, payload, checksum);
  if (auto added = impl_->catalog.add(record, *raw_size, place); !added) {
    impl_->lost = false;  // over a limit: nothing was added
    throw DataError(std::move(added.error()).in(name()));
  }
  impl_->index.add_part(record, impl_->catalog.find(record.name)->parts.back().chain, place);
  impl_->put_record(payload);
  impl_->lost = false;
}

void ArchiveWriter::append_metadata(const Metadata& metadata) {
  impl_->expect_open();
  const auto refuse = [&](ErrorCode code, std::string what) {
    throw DataError(Error{.code = code, .what = std::move(what), .path = name(), .remedy = {}});
  };
  std::set<std::string> keys;
  std::uint64_t payload_size = 8;
  for (const auto& [key, value] : metadata) {
    if (key.find('\0') != std::string::npos || !is_utf8(key) || !is_utf8(value)) {
      refuse(ErrorCode::bad_name, fmt::format("metadata {} is not UTF-8", printable(key)));
    }
    if (impl_->metadata_keys.contains(key) || !keys.insert(key).second) {
      refuse(ErrorCode::duplicate, fmt::format("metadata key {} stands twice", printable(key)));
    }
    payload_size += 8 + key.size() + value.size();
  }
  if (payload_size > ReaderLimits{}.max_metadata_size) {
    refuse(ErrorCode::limit_exceeded, fmt::format("metadata of {} bytes is over the limit of {}",
                                                  payload_size, ReaderLimits{}.max_metadata_size));
  }

  impl_->lost = true;
  const auto payload = write_metadata(metadata);
  const RecordPlace place = impl_->make_header({.kind = Kind::metadata}, payload);
  impl_->metadata_keys.merge(keys);
  impl_->catalog.add_other().value();
  impl_->index.add_metadata(place);
  impl_->put_record(payload);
  impl_->lost = false;
}

void ArchiveWriter::finish() {
  impl_->expect_open();
  impl_->lost = true;
  const auto payload = impl_->index.finish(impl_->catalog);
  const RecordPlace place = impl_->make_header({.kind = Kind::index}, payload);
  std::array<std::byte, layout::footer_size> footer{};
  store(footer.data(), place.offset);
  store(footer.data() + 8, place.offset + place.header_size + place.payload_size + footer.size());
  store(footer.data() + 16, xxh3_64(std::span(footer).first(16)));
  store(footer.data() + 24, layout::footer_magic);
  impl_->put(std::array<std::span<const std::byte>, 3>{impl_->header, payload, footer});
  impl_->sink->commit();
}

std::uint64_t ArchiveWriter::size() const noexcept { return impl_->size; }

const std::string& ArchiveWriter::name() const noexcept { return impl_->sink->name(); }

}  // namespace offramp
