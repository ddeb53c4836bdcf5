// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/container/archive_reader.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>

namespace offramp {

/// Refuses an archive that is cut, misses elements, or has a part above `max_part_size`, coded or
/// decoded. @returns the size of all tensors.
Result<std::uint64_t> check_archive(const ArchiveReader& reader, std::size_t max_part_size);

/// The codec of a part.
Result<Codec> codec_of(const ArchiveReader& reader, const ArchivePart& part);

/// `error`, with the archive, the tensor and the part named.
[[nodiscard]] Error in_part(const ArchiveReader& reader, const ArchiveTensor& tensor,
                            const ArchivePart& part, Error error);

/// The error of a tensor whose elements are not all there.
[[nodiscard]] Error missing(const ArchiveReader& reader, const ArchiveTensor& tensor,
                            ArchiveTensor::Range gap);

}  // namespace offramp
