// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace offramp {

/// The tensors that a job is about.
struct Selection {
  std::vector<const ArchiveTensor*> tensors{};
  std::vector<std::string> skipped{};
  std::uint64_t size{};  ///< of the tensors, decoded
};

/// Refuses an archive that is cut, has a part above `max_part_size`, coded or decoded, or, unless
/// such tensors are to be skipped, misses elements.
Result<Selection> check_archive(const ArchiveReader& reader, std::size_t max_part_size,
                                bool skip_incomplete);

/// The codec of a part.
Result<Codec> codec_of(const ArchiveReader& reader, const ArchivePart& part);

/// `error`, with the archive, the tensor and the part named.
[[nodiscard]] Error in_part(const ArchiveReader& reader, const ArchiveTensor& tensor,
                            const ArchivePart& part, Error error);

/// The error of a tensor whose elements are not all there.
[[nodiscard]] Error missing(const ArchiveReader& reader, const ArchiveTensor& tensor,
                            ArchiveTensor::Range gap);

}  // namespace offramp
