// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// One record of a tensor: a contiguous range of its row-major elements, coded on its own.
struct ArchivePart {
  std::uint64_t first_elem{};     ///< of the tensor
  Shape shape{};                  ///< how the codec saw the range; its elements are the range's
  std::uint64_t raw_size{};       ///< bytes when decoded
  std::uint64_t payload_size{};   ///< bytes in the archive
  std::uint64_t record_offset{};  ///< byte in the archive where the record's header starts
  std::uint32_t header_size{};    ///< bytes of that header; the payload follows
  std::uint32_t chain{};          ///< number of its codec chain: ArchiveReader::chain

  [[nodiscard]] std::uint64_t elems() const noexcept { return shape.elems(); }
  friend bool operator==(const ArchivePart&, const ArchivePart&) = default;
};

/// A tensor of an archive, with the parts that are there.
struct ArchiveTensor {
  std::string name{};
  TensorDesc desc{};
  std::vector<ArchivePart> parts{};  ///< by ascending `first_elem`, never overlapping, never none

  struct Range {
    std::uint64_t first{};
    std::uint64_t count{};
    friend bool operator==(const Range&, const Range&) = default;
  };

  /// The first elements that no part holds, or nothing where the tensor is whole.
  [[nodiscard]] std::optional<Range> first_gap() const noexcept;

  /// Bytes in the archive, headers counted.
  [[nodiscard]] std::uint64_t stored_size() const noexcept;
};

}  // namespace offramp
