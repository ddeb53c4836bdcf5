// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "engine/work_buffer.hpp"

#include <offramp/engine/archive_source.hpp>
#include <offramp/engine/jobs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace offramp {
namespace {

constexpr std::uint64_t max_kept_size = 64u << 20;

}  // namespace

struct ArchiveSource::Kept {
  std::mutex mutex;
  WorkBuffer values;
  const ArchivePart* part{};  // whose values these are
};

Result<std::unique_ptr<ArchiveSource>> ArchiveSource::open(std::string path, Workers& workers,
                                                           const ReaderLimits& limits) {
  OFFRAMP_TRY(reader, ArchiveReader::open(std::move(path), limits));
  if (!reader.complete()) return Error(reader.damage());
  for (const ArchiveTensor& tensor : reader.tensors()) {
    if (const auto gap = tensor.first_gap()) {
      return Error{.code = ErrorCode::truncated,
                   .what = fmt::format("tensor '{}' misses elements {} to {}", tensor.name,
                                       gap->first, gap->first + gap->count - 1),
                   .path = reader.name(),
                   .remedy = "copy what is whole with `offramp recover`"};
    }
  }
  OFFRAMP_TRY(metadata, reader.metadata());
  return std::unique_ptr<ArchiveSource>(
      new ArchiveSource(std::move(reader), std::move(metadata), workers));
}

ArchiveSource::ArchiveSource(ArchiveReader reader, Metadata metadata, Workers& workers)
    : reader_(std::move(reader)),
      metadata_(std::move(metadata)),
      workers_(&workers),
      kept_(std::make_unique<Kept>()) {
  infos_.reserve(reader_.tensors().size());
  for (const ArchiveTensor& tensor : reader_.tensors()) {
    infos_.push_back({.name = tensor.name, .desc = tensor.desc});
  }
}

ArchiveSource::~ArchiveSource() = default;

// Reads elements of one part from what is kept, or keeps it. False, and nothing read, where it is
// not worth while to keep it.
bool ArchiveSource::read_kept(std::size_t tensor, const ArchivePart& part, std::uint64_t first_elem,
                              std::span<std::byte> out) {
  const std::lock_guard lock(kept_->mutex);
  if (kept_->part != &part) {
    const bool begins = first_elem == part.first_elem && out.size() < part.raw_size;
    if (!begins || part.raw_size > max_kept_size) return false;
    kept_->part = nullptr;
    kept_->values.reserve(part.raw_size);
    const ElemRange whole{.tensor = infos_[tensor].name, .first_elem = part.first_elem};
    read_elems(reader_, whole, kept_->values.bytes().first(part.raw_size), *workers_).value();
    kept_->part = &part;
  }
  const std::uint64_t skipped = (first_elem - part.first_elem) * size_of(infos_[tensor].desc.dtype);
  if (!out.empty()) std::memcpy(out.data(), kept_->values.bytes().data() + skipped, out.size());
  return true;
}

void ArchiveSource::read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) {
  OFFRAMP_EXPECTS(tensor < infos_.size(), "no tensor of that number");
  const std::size_t elem_size = size_of(infos_[tensor].desc.dtype);
  OFFRAMP_EXPECTS(out.size() % elem_size == 0, "the output is not a whole number of elements");
  const std::vector<ArchivePart>& parts = reader_.tensors()[tensor].parts;
  const auto part_of = [&](std::uint64_t elem) {
    return std::ranges::partition_point(
        parts, [&](const ArchivePart& part) { return part.first_elem + part.elems() <= elem; });
  };
  const auto direct = [&](std::span<std::byte> piece) {
    const ElemRange range{.tensor = infos_[tensor].name, .first_elem = first_elem};
    read_elems(reader_, range, piece, *workers_).value();
  };
  const auto advance = [&](std::size_t size) {
    first_elem += size / elem_size;
    out = out.subspan(size);
  };

  // The rest of a part that is kept, then whole parts, then the beginning of one to be kept.
  const auto first = part_of(first_elem);
  if (first == parts.end() || out.empty()) return direct(out);
  const std::uint64_t left = (first->first_elem + first->elems() - first_elem) * elem_size;
  const auto front = out.first(std::min<std::uint64_t>(out.size(), left));
  if (front.size() < first->raw_size && read_kept(tensor, *first, first_elem, front)) {
    advance(front.size());
  }
  const std::uint64_t end = first_elem + out.size() / elem_size;
  const auto last = part_of(end);
  const bool begins_last = last != parts.end() && last->first_elem >= first_elem;
  const std::size_t whole = begins_last ? (last->first_elem - first_elem) * elem_size : out.size();
  if (whole != 0) direct(out.first(whole));
  advance(whole);
  if (!out.empty() && !read_kept(tensor, *last, first_elem, out)) direct(out);
}

}  // namespace offramp
