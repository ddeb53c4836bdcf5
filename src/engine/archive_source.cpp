// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/engine/archive_source.hpp>
#include <offramp/engine/jobs.hpp>

#include <fmt/format.h>

namespace offramp {

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
    : reader_(std::move(reader)), metadata_(std::move(metadata)), workers_(&workers) {
  infos_.reserve(reader_.tensors().size());
  for (const ArchiveTensor& tensor : reader_.tensors()) {
    infos_.push_back({.name = tensor.name, .desc = tensor.desc});
  }
}

void ArchiveSource::read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) {
  OFFRAMP_EXPECTS(tensor < infos_.size(), "no tensor of that number");
  const ElemRange range{.tensor = infos_[tensor].name, .first_elem = first_elem};
  read_elems(reader_, range, out, *workers_).value();
}

}  // namespace offramp
