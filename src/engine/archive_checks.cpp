// SPDX-License-Identifier: Apache-2.0
#include "engine/archive_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp {

Error missing(const ArchiveReader& reader, const ArchiveTensor& tensor, ArchiveTensor::Range gap) {
  return {.code = ErrorCode::truncated,
          .what = fmt::format("tensor '{}' misses elements {} to {}", tensor.name, gap.first,
                              gap.first + gap.count - 1),
          .path = reader.name(),
          .remedy = "restore the others with --skip-incomplete"};
}

Error in_part(const ArchiveReader& reader, const ArchiveTensor& tensor, const ArchivePart& part,
              Error error) {
  error.what =
      fmt::format("tensor '{}', part at element {}: {}", tensor.name, part.first_elem, error.what);
  return std::move(error).in(reader.name());
}

Result<Codec> codec_of(const ArchiveReader& reader, const ArchivePart& part) {
  auto codec = Codec::parse(reader.chain(part));
  if (!codec) return Error(codec.error()).in(reader.name());
  return codec;
}

Result<Selection> check_archive(const ArchiveReader& reader, std::size_t max_part_size,
                                bool skip_incomplete) {
  if (!reader.complete()) {
    Error damage = reader.damage();
    if (damage.remedy.empty()) damage.remedy = "copy what is whole with `offramp recover`";
    return std::move(damage).in(reader.name());
  }
  const std::uint64_t largest = std::max(reader.max_payload_size(), reader.max_raw_size());
  if (largest > max_part_size) {
    return Error{
        .code = ErrorCode::limit_exceeded,
        .what = fmt::format("a part of {} bytes is over the limit of {}", largest, max_part_size),
        .path = reader.name(),
        .remedy = "raise the limit if you trust the file"};
  }
  Selection selection;
  for (const ArchiveTensor& tensor : reader.tensors()) {
    if (const auto gap = tensor.first_gap()) {
      if (!skip_incomplete) return missing(reader, tensor, *gap);
      selection.skipped.push_back(tensor.name);
      continue;
    }
    selection.tensors.push_back(&tensor);
    selection.size += tensor.desc.size();
  }
  return selection;
}

}  // namespace offramp
