// SPDX-License-Identifier: Apache-2.0
#include <offramp/container/archive_writer.hpp>
#include <offramp/engine/archive_sink.hpp>

namespace offramp {

ArchiveSink::ArchiveSink(ArchiveWriter& writer, const Codec& codec)
    : writer_(&writer),
      codec_(codec),
      chain_(codec.serialize()),
      store_chain_(Codec::from_name("store").value().serialize()) {}

std::uint64_t ArchiveSink::digest(std::span<const std::byte> payload) const {
  return ArchiveWriter::checksum(payload);
}

void ArchiveSink::write(const EncodedPart& part) {
  writer_->append({.name = part.what.name,
                   .tensor = part.what.tensor,
                   .first_elem = part.what.part.first_elem,
                   .part = part.what.part.desc.shape,
                   .chain = *part.codec == codec_ ? chain_ : store_chain_},
                  part.payload, part.digest);
}

void ArchiveSink::finish() { writer_->finish(); }

}  // namespace offramp
