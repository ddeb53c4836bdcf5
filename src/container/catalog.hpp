// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/archive_tensor.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// Where a record stands.
struct RecordPlace {
  std::uint64_t offset{};
  std::uint32_t header_size{};
  std::uint64_t payload_size{};
};

/// The tensors of an archive by name, with their parts. Counts what it takes against the limits.
///
/// Trees, not hash tables: names come from files that nobody vouches for.
class Catalog {
 public:
  explicit Catalog(const ReaderLimits& limits) : limits_(limits) {}
  Catalog(Catalog&&) noexcept = default;
  Catalog& operator=(Catalog&&) noexcept = default;

  /// Whether the part, sound on its own (`check_part`), goes with those before: mismatch (another
  /// dtype or shape under the name), duplicate (it overlaps).
  [[nodiscard]] Result<void> check(const PartRecord& part);

  /// Adds a part, sound on its own, without looking for overlaps: mismatch, limit_exceeded.
  Result<void> add(const PartRecord& part, std::uint64_t raw_size, const RecordPlace& place);

  /// Counts a record that is no part: limit_exceeded.
  Result<void> add_other();

  /// Sorts the parts; duplicate where two overlap. After it nothing is added.
  Result<void> seal();

  [[nodiscard]] std::span<const ArchiveTensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] const ArchiveTensor* find(std::string_view name) const noexcept;
  [[nodiscard]] std::span<const std::byte> chain(std::uint32_t number) const noexcept {
    return *chains_[number];
  }
  [[nodiscard]] std::size_t chain_count() const noexcept { return chains_.size(); }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  struct ByteLess {
    using is_transparent = void;
    bool operator()(std::span<const std::byte> a, std::span<const std::byte> b) const noexcept {
      return std::ranges::lexicographical_compare(a, b);
    }
  };

  using Ends = std::map<std::uint64_t, std::uint64_t>;  // of parts, by their first elements

  Result<void> count(std::uint64_t memory);
  Ends& ends_of(std::size_t tensor);

  ReaderLimits limits_;
  std::vector<ArchiveTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of tensors
  std::map<std::vector<std::byte>, std::uint32_t, ByteLess> chain_numbers_;
  std::vector<const std::vector<std::byte>*> chains_;  // keys of chain_numbers_
  std::vector<bool> unsorted_;                         // by tensor
  std::map<std::size_t, Ends> ends_;                   // of tensors checked out of order
  std::uint64_t records_{};
  std::uint64_t memory_{};
};

}  // namespace offramp
