// SPDX-License-Identifier: Apache-2.0
#include "container/catalog.hpp"
#include "container/layout.hpp"
#include "container/metadata.hpp"
#include "container/part_check.hpp"
#include "container/record_access.hpp"
#include "core/bytes.hpp"
#include "core/hash.hpp"

#include <offramp/container/recover_archive.hpp>

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace offramp {
namespace {

using layout::Kind;

constexpr std::size_t most_listed = 1000;
constexpr std::size_t window_size = std::size_t{1} << 20;

Error fault(ErrorCode code, std::string what) {
  return Error{.code = code, .what = std::move(what), .path = {}, .remedy = {}};
}

class Recovery {
 public:
  Recovery(const RandomAccess& in, ArchiveWriter& out, const RecoverSettings& settings)
      : in_(in), out_(out), settings_(settings), records_(in), probe_(in) {}

  Result<RecoverReport> run() {
    OFFRAMP_TRY(header_is_sound, read_file_header());
    std::uint64_t at = std::min<std::uint64_t>(layout::file_header_size, in_.size());
    if (!header_is_sound)
      lose(0, at, {}, fault(ErrorCode::bad_magic, "the file header is damaged"));
    while (at < in_.size()) {
      if (settings_.progress && !settings_.progress(at, in_.size())) {
        return fault(ErrorCode::cancelled, "recovery was stopped").in(in_.name());
      }
      at = step(at);
    }
    if (!header_is_sound && !any_record_) {
      return Error{.code = ErrorCode::bad_magic,
                   .what = "not an offramp archive, and no record in it",
                   .path = in_.name(),
                   .remedy = "check that it is an .ofr file"};
    }
    OFFRAMP_TRY_VOID(catalog_.seal());
    for (const ArchiveTensor& tensor : catalog_.tensors()) {
      if (tensor.first_gap()) report_.incomplete.push_back(tensor.name);
    }
    return std::move(report_);
  }

 private:
  // Whether it is sound; an error only for a version that this build cannot read.
  Result<bool> read_file_header() {
    std::array<std::byte, layout::file_header_size> bytes{};
    if (in_.size() < bytes.size()) return false;
    OFFRAMP_TRY_VOID(read_bytes(in_, 0, bytes));
    if (std::memcmp(bytes.data(), layout::file_magic.data(), 8) != 0) return false;
    const auto version = load<std::uint32_t>(bytes.data() + 8);
    const bool plausible = load<std::uint32_t>(bytes.data() + 12) == 0;
    if (version < min_archive_version || version > max_archive_version) {
      // A flipped bit there must not keep the records from being read: they tell.
      if (!plausible || records_.read_header(layout::file_header_size)) return false;
      return Error{.code = ErrorCode::bad_version,
                   .what = fmt::format("archive format version {}", version),
                   .path = in_.name(),
                   .remedy = "use a newer offramp"};
    }
    return plausible;
  }

  // Takes the record at `at`, or what is lost there; returns where to go on.
  std::uint64_t step(std::uint64_t at) {
    auto header = records_.read_header_anywhere(at);
    if (header && !belongs(*header, at)) {
      header = fault(ErrorCode::bad_header, "a record that belongs to another place");
    }
    if (!header) {
      const std::uint64_t next = find_record(at + 1);
      lose(at, next, {}, at_record(std::move(header.error()), at));
      return next;
    }
    const std::uint64_t end = at + header->header_size + header->payload_size;
    any_record_ = true;
    if (header->offset - at != shift_) {
      const std::uint64_t gone = header->offset - at - shift_;
      shift_ += gone;
      lose(at, at, {}, fault(ErrorCode::truncated, fmt::format("{} bytes are missing", gone)));
      report_.lost_bytes += gone;
    }
    if (auto taken = take(at, *header); !taken) {
      std::string name(header->kind == Kind::part ? header->part.name : std::string_view{});
      // The header is sound, so its record ends where it says if something sound starts there.
      const bool ends_there = end == in_.size() || is_record(end);
      const std::uint64_t next = ends_there ? end : find_record(at + header->header_size);
      lose(at, next, std::move(name), at_record(std::move(taken.error()), at));
      return next;
    }
    if (header->kind == Kind::index) return end_of_footer(end);
    return end;
  }

  Result<void> take(std::uint64_t at, const RecordHeader& header) {
    if (header.kind == Kind::part) {
      OFFRAMP_TRY_VOID(check_limits(settings_.limits, header.payload_size, header.raw_size));
      OFFRAMP_TRY_VOID(check_limits(ReaderLimits{}, header.payload_size, header.raw_size));
    }
    const std::uint64_t most = header.kind == Kind::metadata ? settings_.limits.max_metadata_size
                               : header.kind == Kind::index  ? settings_.limits.max_memory
                                                             : settings_.limits.max_payload_size;
    if (header.payload_size > most) {
      return fault(
          ErrorCode::limit_exceeded,
          fmt::format("a payload of {} bytes is over the limit of {}", header.payload_size, most));
    }
    OFFRAMP_TRY_VOID(spend(header.payload_size));
    payload_.resize(static_cast<std::size_t>(header.payload_size));
    OFFRAMP_TRY_VOID(read_checked_payload(in_, at, header, payload_));
    try {
      switch (header.kind) {
        case Kind::part: {
          OFFRAMP_TRY_VOID(catalog_.check(header.part));
          out_.append(header.part, payload_);
          OFFRAMP_TRY_VOID(catalog_.add(header.part, header.raw_size,
                                        {at, header.header_size, header.payload_size}));
          ++report_.parts;
          report_.payload_bytes += header.payload_size;
          break;
        }
        case Kind::metadata: {
          Metadata pairs;
          OFFRAMP_TRY_VOID(parse_metadata(payload_, pairs));
          out_.append_metadata(pairs);
          ++report_.metadata_records;
          break;
        }
        case Kind::index:
          break;
      }
    } catch (const DataError& error) {
      return error.error();
    }
    return {};
  }

  // Behind the index: the footer, which must be the last of the file.
  std::uint64_t end_of_footer(std::uint64_t at) {
    std::array<std::byte, layout::footer_size> footer{};
    report_.had_index = true;
    if (in_.size() - at < footer.size() || !read_bytes(in_, at, footer) ||
        std::memcmp(footer.data() + 24, layout::footer_magic.data(), 8) != 0 ||
        load<std::uint64_t>(footer.data() + 16) != xxh3_64(std::span(footer).first(16))) {
      return at;  // what stands there is lost by the next step
    }
    return at + footer.size();
  }

  // Bytes may be missing before a record, so that it states a later place, but none are ever added:
  // what states an earlier one is part of an archive that was packed as data.
  bool belongs(const RecordHeader& header, std::uint64_t at) const noexcept {
    return header.offset >= at && header.offset - at >= shift_;
  }

  bool is_record(std::uint64_t at) {
    const auto header = probe_.read_header_anywhere(at);
    return header && belongs(*header, at);
  }

  // The next place from `at` on where a sound header stands, or the file's end.
  std::uint64_t find_record(std::uint64_t at) {
    const auto& magic = layout::record_magic;
    window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(window_size, in_.size())));
    while (in_.size() - at >= layout::record_prefix_size) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), in_.size() - at));
      const auto window = std::span(window_).first(size);
      if (!read_bytes(in_, at, window) || !spend(size)) return in_.size();
      for (std::size_t from = 0; from < size;) {
        const void* hit = ::memmem(window.data() + from, size - from, magic.data(), magic.size());
        if (!hit) break;
        const auto found =
            static_cast<std::size_t>(static_cast<const std::byte*>(hit) - window.data());
        const std::uint64_t before = probe_.bytes_read();
        if (is_record(at + found)) return at + found;
        if (!spend(probe_.bytes_read() - before)) return in_.size();
        from = found + 1;
      }
      if (size < window_.size()) break;
      at += size - (magic.size() - 1);
    }
    return in_.size();
  }

  // A file made to look full of records would be hashed over and over: that has an end.
  Result<void> spend(std::uint64_t bytes) {
    spent_ += bytes;
    if (spent_ / 16 <= in_.size() + (std::uint64_t{64} << 20)) return {};
    return fault(ErrorCode::limit_exceeded, "too many false records");
  }

  void lose(std::uint64_t begin, std::uint64_t end, std::string tensor, Error why) {
    report_.lost_bytes += end - begin;
    if (report_.lost.size() >= most_listed) return;
    report_.lost.push_back({begin, end, std::move(tensor), std::move(why).in(in_.name())});
  }

  const RandomAccess& in_;
  ArchiveWriter& out_;
  const RecoverSettings& settings_;
  RecordAccess records_;
  RecordAccess probe_;               // looks ahead while a header of records_ is in use
  Catalog catalog_{ReaderLimits{}};  // of what was copied; as the writer's
  RecoverReport report_{};
  std::vector<std::byte> payload_;
  std::vector<std::byte> window_;
  std::uint64_t shift_{};  // bytes that are known to be missing before the present place
  std::uint64_t spent_{};
  bool any_record_{};
};

}  // namespace

Result<RecoverReport> recover_archive(const RandomAccess& in, ArchiveWriter& out,
                                      const RecoverSettings& settings) {
  return Recovery(in, out, settings).run();
}

}  // namespace offramp
