// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace offramp::testing_samples {

/// Calls of operator new in this process so far. Link counting_new.cpp, which replaces it.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace offramp::testing_samples
