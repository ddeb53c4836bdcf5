// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>

namespace offramp {

/// Waits for what a failed device still does. One that has lost everything does nothing any more.
inline void settle(const Stream& stream) noexcept {
  try {
    stream.ref().sync();
  } catch (...) {
  }
}

}  // namespace offramp
