// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace offramp {

using KeyValues = std::map<std::string, std::string>;

/// The payload of a metadata record (docs/format.md, Metadata).
[[nodiscard]] std::vector<std::byte> write_metadata(const KeyValues& pairs);

/// Adds the payload's pairs to `to`. Errors: bad_header, bad_name (not UTF-8), duplicate.
Result<void> parse_metadata(std::span<const std::byte> payload, KeyValues& to);

}  // namespace offramp
