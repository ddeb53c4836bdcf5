// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace offramp::test {

/// Makes the `nth` allocation from now on throw std::bad_alloc, once; 0 makes none.
void fail_allocation(std::size_t nth) noexcept;

/// Whether the allocation that was to fail has come.
[[nodiscard]] bool allocation_failed() noexcept;

/// Blocks of operator new that are not freed, and the largest asked for since the last
/// fail_allocation.
[[nodiscard]] std::size_t live_allocations() noexcept;
[[nodiscard]] std::size_t largest_allocation() noexcept;
[[nodiscard]] std::size_t allocation_count() noexcept;

}  // namespace offramp::test
