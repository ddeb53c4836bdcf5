// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp {

/// xxHash3-64 with seed 0, the checksum of every part of an archive.
[[nodiscard]] std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept;

}  // namespace offramp
