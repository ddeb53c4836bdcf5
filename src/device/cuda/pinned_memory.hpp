// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace offramp {

struct PinnedRequest {
  std::size_t size{};
  std::optional<int> numa_node{};  ///< where the pages are to lie
  std::string_view device{};       ///< for the error's text
};

/// Page-locked host memory that every GPU reaches, aligned to 4096. Needs a current context.
/// @throws OutOfMemory, with what there is and what to do, where it cannot be locked.
[[nodiscard]] std::byte* allocate_pinned(const PinnedRequest& request);

void free_pinned(std::byte* data, std::size_t size) noexcept;

}  // namespace offramp
