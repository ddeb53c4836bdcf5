// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/engine/record_sink.hpp>

#include <cstddef>
#include <vector>

namespace offramp {

class ArchiveWriter;

/// A pipeline's end in an archive: each coded part becomes a record; `finish` finishes the writer.
class ArchiveSink final : public RecordSink {
 public:
  /// `codec` is the pipeline's. The writer is the caller's and must outlive the pipeline.
  ArchiveSink(ArchiveWriter& writer, const Codec& codec);

  /// The payload's checksum.
  [[nodiscard]] std::uint64_t digest(std::span<const std::byte> payload) const override;

  /// @throws what ArchiveWriter::append throws.
  void write(const EncodedPart& part) override;
  void finish() override;

 private:
  ArchiveWriter* writer_;
  Codec codec_;
  std::vector<std::byte> chain_;
  std::vector<std::byte> store_chain_;
};

}  // namespace offramp
