// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device_table.hpp>
#include <offramp/device/host_slab.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace offramp {

/// Host memory that keeps its largest size so far. Its bytes are lost when it grows.
class WorkBuffer {
 public:
  /// @returns whether it grew. @throws OutOfMemory.
  bool reserve(std::size_t size) {
    if (size <= bytes_.slot_size()) return false;
    // An eighth more, so that sizes that creep up do not grow it each time.
    bytes_ = {};
    bytes_ = HostSlab(host_device(), {.slots = 1, .slot_size = size + size / 8});
    return true;
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return bytes_.slots() == 0 ? std::span<std::byte>{} : bytes_.slot(0);
  }

 private:
  HostSlab bytes_;
};

}  // namespace offramp
