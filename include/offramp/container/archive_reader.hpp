// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/archive_tensor.hpp>
#include <offramp/container/random_access.hpp>
#include <offramp/core/metadata.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// Reads an archive at any place, whole or cut.
///
/// Opens by footer and index, in four reads. Where these are missing or damaged it walks the
/// records from the start to the last whole one: `complete()` is then false and `damage()` says
/// why. All const calls are thread-safe. Owns its access.
class ArchiveReader {
 public:
  /// @throws IoError if the file cannot be read at all.
  static Result<ArchiveReader> open(std::string path, const ReaderLimits& limits = {});
  static Result<ArchiveReader> open(std::unique_ptr<RandomAccess> access,
                                    const ReaderLimits& limits = {});

  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;
  ~ArchiveReader();

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;  ///< of the file, in bytes
  [[nodiscard]] std::uint32_t version() const noexcept;

  /// Whether index and footer are there and sound. Says nothing of payloads: see `verify_archive`.
  [[nodiscard]] bool complete() const noexcept;

  /// Byte behind the last whole record; in a complete archive, where the index starts.
  [[nodiscard]] std::uint64_t records_end() const noexcept;

  /// Why the archive is not complete, with the byte; `code` is 0 if it is.
  [[nodiscard]] const Error& damage() const noexcept;

  /// Tensors by the place of their first record.
  [[nodiscard]] std::span<const ArchiveTensor> tensors() const noexcept;

  /// The tensor of that name, or nullptr.
  [[nodiscard]] const ArchiveTensor* find(std::string_view name) const noexcept;

  /// Parts of all tensors together.
  [[nodiscard]] std::uint64_t part_count() const noexcept;

  /// Largest payload, and largest decoded part: what to size buffers by.
  [[nodiscard]] std::uint64_t max_payload_size() const noexcept;
  [[nodiscard]] std::uint64_t max_raw_size() const noexcept;

  /// A part's codec chain, well-formed (docs/format.md, Codec chain); lives as long as the reader.
  [[nodiscard]] std::span<const std::byte> chain(const ArchivePart& part) const noexcept;

  /// Reads a part's payload into `out`, which holds exactly `payload_size` bytes; checks the
  /// record's header against the index, and both checksums. Allocates nothing (but for a header
  /// above 1 KiB). @throws IoError; LogicError if `out` has another size.
  Result<void> read_payload(const ArchiveTensor& tensor, const ArchivePart& part,
                            std::span<std::byte> out) const;

  /// All key-value text, in the order of the archive. @throws IoError.
  Result<Metadata> metadata() const;

 private:
  struct Impl;
  explicit ArchiveReader(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp
