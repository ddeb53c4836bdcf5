// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace offramp::test {

using Bytes = std::vector<std::byte>;

/// The chain of the codec `store`.
Bytes store_chain();

/// `size` bytes that depend on `seed`.
Bytes noise(std::size_t size, std::uint32_t seed);

/// A part as it was written.
struct WrittenPart {
  std::string name{};
  TensorDesc tensor{};
  std::uint64_t first_elem{};
  Shape part{};
  Bytes payload{};
  std::uint64_t end{};  ///< byte behind its record
};

/// A small archive with one of everything: metadata, a whole tensor, one in two parts, an empty
/// one, a scalar.
struct SampleArchive {
  Bytes bytes{};
  std::uint64_t metadata_end{};
  std::vector<WrittenPart> parts{};
  Metadata metadata{};
};

SampleArchive make_sample();

/// Appends a part of `store`d noise.
WrittenPart append_noise(ArchiveWriter& writer, std::string name, const TensorDesc& tensor,
                         std::uint64_t first_elem, const Shape& part);

/// Opens bytes; they must outlive the reader.
Result<ArchiveReader> open_bytes(const Bytes& bytes, const ReaderLimits& limits = {});
Result<ArchiveReader> open_bytes(Bytes&& bytes, const ReaderLimits& limits = {}) = delete;

/// Every part whose payload reads back sound, by name and first element.
std::map<std::pair<std::string, std::uint64_t>, Bytes> readable(const ArchiveReader& reader);

/// The same of what was written.
std::map<std::pair<std::string, std::uint64_t>, Bytes> written(
    const std::vector<WrittenPart>& parts);

/// Makes the checksum of the header at `record` right again.
void mend_header(Bytes& bytes, std::size_t record);

}  // namespace offramp::test
