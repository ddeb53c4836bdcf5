// SPDX-License-Identifier: Apache-2.0
#include "core/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace offramp {

std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace offramp
