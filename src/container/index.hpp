// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/catalog.hpp"
#include "container/layout.hpp"

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// Gathers the payload of an index record (docs/format.md, Index) while an archive is written.
class IndexBuilder {
 public:
  /// `chain` is the number of the part's chain, which counts up from 0 as chains appear.
  void add_part(const PartRecord& part, std::uint32_t chain, const RecordPlace& place);
  void add_metadata(const RecordPlace& place);

  [[nodiscard]] std::vector<std::byte> finish(const Catalog& catalog) const;

 private:
  void add_place(layout::Kind kind, const RecordPlace& place);

  std::vector<std::byte> entries_;
  std::uint64_t records_{};
  bool any_part_{};
  std::string name_;  // of the last part's tensor
};

/// What an archive holds, from its index or from its records.
struct Contents {
  explicit Contents(const ReaderLimits& limits) : catalog(limits) {}
  Catalog catalog;
  std::vector<RecordPlace> metadata{};
  std::uint64_t records_end{layout::file_header_size};
};

/// Reads an index record's payload. The records must fill the file from its header to
/// `index_offset` exactly. Errors: bad_header, and those of the catalog.
Result<Contents> parse_index(std::span<const std::byte> payload, std::uint64_t index_offset,
                             const ReaderLimits& limits);

}  // namespace offramp
