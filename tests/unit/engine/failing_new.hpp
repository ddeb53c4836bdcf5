// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace offramp::testing_engine {

/// Calls of operator new in this process so far.
[[nodiscard]] std::size_t allocations() noexcept;

/// Makes the call after the next `skip` ones throw bad_alloc, on whatever thread. SIZE_MAX: none.
void fail_allocation_after(std::size_t skip) noexcept;

/// Whether it has thrown since.
[[nodiscard]] bool allocation_failed() noexcept;

}  // namespace offramp::testing_engine
