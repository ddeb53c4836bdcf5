// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/container/archive_limits.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

/// Whether the bytes have the form of a codec chain.
[[nodiscard]] bool is_chain(std::span<const std::byte> bytes) noexcept;

/// A name for messages: quoted, short, without control characters.
[[nodiscard]] std::string printable(std::string_view name);

/// Whether the part is the tensor, shape and all.
[[nodiscard]] inline bool is_whole(const PartRecord& record) noexcept {
  return record.first_elem == 0 && record.part == record.tensor.shape;
}

/// Bytes of the part when decoded, once all rules for one part on its own are kept: bad_name,
/// bad_header.
Result<std::uint64_t> check_part(const PartRecord& record);

/// limit_exceeded where a part is beyond a limit of the reader.
Result<void> check_limits(const ReaderLimits& limits, std::uint64_t payload_size,
                          std::uint64_t raw_size);

}  // namespace offramp
