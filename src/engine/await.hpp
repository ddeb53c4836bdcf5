// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/event.hpp>

#include <chrono>

namespace offramp {

/// Waits for an event that is mostly near: it looks for some time before it goes to sleep, since
/// waking up takes as long as a chunk takes to cross the link.
inline void await(const Event& event) {
  constexpr std::chrono::microseconds patience{50};
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!event.is_done()) {
    if (std::chrono::steady_clock::now() < until) continue;
    event.sync();
    return;
  }
}

}  // namespace offramp
