// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/byte_sink.hpp>
#include <offramp/core/metadata.hpp>
#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// What a record says about its payload. Owns nothing.
struct PartRecord {
  std::string_view name{};      ///< of the tensor: UTF-8, no NUL, at most `max_name_size`
  TensorDesc tensor{};          ///< the whole tensor
  std::uint64_t first_elem{0};  ///< where the part starts in it
  Shape part{};                 ///< elements from there on, as a shape; the tensor's if whole
  std::span<const std::byte> chain{};  ///< codec chain (docs/format.md, Codec chain)
};

/// Writes an archive, record by record, in the order of the calls.
///
/// Knows nothing of threads: one at a time. A part goes out in one append of header and payload;
/// kept in memory is only the index (some 30 bytes and the part's place for each record). Where a
/// call throws IoError, the archive is lost: only the destructor may follow. Destroyed before
/// `finish` returned, the sink removes what was written.
class ArchiveWriter {
 public:
  struct Settings {
    std::uint32_t version = max_archive_version;  ///< the format version to write
  };

  /// @throws LogicError if this build does not write that version; IoError.
  explicit ArchiveWriter(std::unique_ptr<ByteSink> sink, Settings settings);
  explicit ArchiveWriter(std::unique_ptr<ByteSink> sink) : ArchiveWriter(std::move(sink), {}) {}

  /// Writes to a file beside `path`, renamed by `finish`. @throws IoError.
  ArchiveWriter(std::string path, OutputFile::Existing existing);

  ArchiveWriter(ArchiveWriter&&) noexcept;
  ArchiveWriter& operator=(ArchiveWriter&&) noexcept;
  ~ArchiveWriter();

  /// Appends one part of a tensor. Parts may come in any order; each part of a tensor states the
  /// same `tensor`. A tensor of 0 elements has one part of 0 elements.
  /// @throws DataError (bad_name; duplicate: overlaps an earlier part; mismatch: another `tensor`
  ///         under the name), nothing written; LogicError if the part is not inside the tensor or
  ///         the chain is malformed, nothing written; IoError.
  void append(const PartRecord& record, std::span<const std::byte> payload);

  /// The same with the payload's `checksum` known, so that this reads it only to write it. A wrong
  /// one makes a record that is refused when it is read.
  void append(const PartRecord& record, std::span<const std::byte> payload, std::uint64_t checksum);

  /// What an archive keeps of a payload to prove it by. Any thread.
  [[nodiscard]] static std::uint64_t checksum(std::span<const std::byte> payload) noexcept;

  /// Appends key-value text. Call it before the parts, so that a cut archive still has it.
  /// @throws DataError (duplicate: a key given before; bad_name: not UTF-8; limit_exceeded: over
  /// the
  ///         default ReaderLimits), nothing written; IoError.
  void append_metadata(const Metadata& metadata);

  /// Writes index and footer and commits the sink. Once. @throws IoError.
  void finish();

  /// Bytes of the archive so far.
  [[nodiscard]] std::uint64_t size() const noexcept;

  /// What the sink calls itself.
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp
