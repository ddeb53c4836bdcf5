// SPDX-License-Identifier: Apache-2.0
#include <offramp/container/random_access.hpp>
#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace offramp {

void MemoryAccess::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
    throw DataError(Error{.code = ErrorCode::truncated,
                          .what = fmt::format("{} bytes at byte {} are not inside {}", out.size(),
                                              offset, bytes_.size()),
                          .path = name_,
                          .remedy = {}});
  }
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

}  // namespace offramp
