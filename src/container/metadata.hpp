// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/metadata.hpp>
#include <offramp/core/result.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace offramp {

/// The payload of a metadata record (docs/format.md, Metadata).
[[nodiscard]] std::vector<std::byte> write_metadata(const Metadata& pairs);

/// Adds the payload's pairs to `to`. Errors: bad_header, bad_name (not UTF-8). Keys that stand
/// twice are left to `check_unique_keys`, once for all records.
Result<void> parse_metadata(std::span<const std::byte> payload, Metadata& to);

/// Error: duplicate.
Result<void> check_unique_keys(const Metadata& pairs);

}  // namespace offramp
