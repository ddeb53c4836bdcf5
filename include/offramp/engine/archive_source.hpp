// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_reader.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// An archive read as a source of tensors: decoded piece by piece, as it is asked for. A part of up
/// to 64 MiB that is read from its beginning, but not to its end, is decoded whole and kept until
/// another one is: pieces in a row cost no more than the whole.
class ArchiveSource final : public TensorSource {
 public:
  /// Refuses an archive that is cut or misses a part of a tensor, and bad metadata.
  static Result<std::unique_ptr<ArchiveSource>> open(std::string path, Workers& workers,
                                                     const ReaderLimits& limits = {});

  ~ArchiveSource() override;

  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept override { return infos_; }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return metadata_; }
  [[nodiscard]] const std::string& name() const noexcept override { return reader_.name(); }

  /// Reads only the parts that hold some of the elements. @throws DataError, IoError, LogicError.
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override;

 private:
  ArchiveSource(ArchiveReader reader, Metadata metadata, Workers& workers);

  struct Kept;  // the part that was decoded last
  bool read_kept(std::size_t tensor, const ArchivePart& part, std::uint64_t first_elem,
                 std::span<std::byte> out);

  ArchiveReader reader_;
  std::vector<TensorInfo> infos_;
  Metadata metadata_;
  Workers* workers_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace offramp
