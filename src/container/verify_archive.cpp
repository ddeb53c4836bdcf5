// SPDX-License-Identifier: Apache-2.0
#include "container/part_check.hpp"

#include <offramp/container/verify_archive.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace offramp {

VerifyReport verify_archive(const ArchiveReader& reader) {
  constexpr std::size_t most_errors = 100;
  VerifyReport report;
  const auto fault = [&](Error error) {
    ++report.faults;
    if (report.errors.size() < most_errors) report.errors.push_back(std::move(error));
  };
  if (!reader.complete()) fault(reader.damage());
  if (auto metadata = reader.metadata(); !metadata) fault(std::move(metadata.error()));
  std::vector<std::byte> payload;
  for (const ArchiveTensor& tensor : reader.tensors()) {
    for (const ArchivePart& part : tensor.parts) {
      payload.resize(static_cast<std::size_t>(part.payload_size));
      if (auto read = reader.read_payload(tensor, part, payload); !read) {
        fault(std::move(read.error()));
        continue;
      }
      ++report.parts;
      report.payload_bytes += part.payload_size;
    }
    if (const auto gap = tensor.first_gap()) {
      fault(Error{.code = ErrorCode::truncated,
                  .what = fmt::format("tensor {} misses elements from {} on",
                                      printable(tensor.name), gap->first),
                  .path = reader.name(),
                  .remedy = "pack the tensor again"});
    }
  }
  return report;
}

}  // namespace offramp
