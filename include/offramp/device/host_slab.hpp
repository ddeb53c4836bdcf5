// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device.hpp>

#include <cstddef>
#include <span>

namespace offramp {

/// Slots of equal size in one piece of the device's fast host memory, allocated once.
///
/// Move-only. Each slot starts on a page. Who holds which slot is the user's business.
class HostSlab {
 public:
  HostSlab() noexcept = default;

  struct Layout {
    std::size_t slots{};
    std::size_t slot_size{};
  };

  /// @throws OutOfMemory; LogicError where the product does not fit.
  HostSlab(Device& device, Layout layout);
  HostSlab(HostSlab&& other) noexcept;
  HostSlab& operator=(HostSlab&& other) noexcept;
  ~HostSlab();

  [[nodiscard]] std::size_t slots() const noexcept { return layout_.slots; }
  [[nodiscard]] std::size_t slot_size() const noexcept { return layout_.slot_size; }
  [[nodiscard]] std::span<std::byte> slot(std::size_t index) const noexcept {
    return {data_ + index * stride_, layout_.slot_size};
  }

 private:
  Device* device_{};
  Layout layout_{};
  std::size_t stride_{};
  std::byte* data_{};
};

}  // namespace offramp
