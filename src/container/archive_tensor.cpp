// SPDX-License-Identifier: Apache-2.0
#include <offramp/container/archive_tensor.hpp>

namespace offramp {

std::optional<ArchiveTensor::Range> ArchiveTensor::first_gap() const noexcept {
  std::uint64_t next = 0;
  for (const ArchivePart& part : parts) {
    if (part.first_elem > next) return Range{next, part.first_elem - next};
    next = part.first_elem + part.elems();
  }
  const std::uint64_t all = desc.shape.elems();
  if (next < all) return Range{next, all - next};
  return std::nullopt;
}

std::uint64_t ArchiveTensor::stored_size() const noexcept {
  std::uint64_t size = 0;
  for (const ArchivePart& part : parts) size += part.header_size + part.payload_size;
  return size;
}

}  // namespace offramp
