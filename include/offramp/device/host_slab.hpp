// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device.hpp>

#include <cstddef>
#include <span>
#include <string>

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
    std::size_t min_slots{0};  ///< with fewer slots than that the slab is of no use; 0: all of them
  };

  /// Where memory for all slots is refused, it is asked for fewer, down to `min_slots`: see
  /// `slots()` and `shortfall()`.
  /// @throws OutOfMemory; LogicError where the product does not fit or `min_slots` is above
  /// `slots`.
  HostSlab(Device& device, Layout layout);
  HostSlab(HostSlab&& other) noexcept;
  HostSlab& operator=(HostSlab&& other) noexcept;
  ~HostSlab();

  [[nodiscard]] std::size_t slots() const noexcept { return layout_.slots; }

  /// Empty where all slots are there; else why they are not, and what to do about it.
  [[nodiscard]] const std::string& shortfall() const noexcept { return shortfall_; }

  [[nodiscard]] std::size_t slot_size() const noexcept { return layout_.slot_size; }
  [[nodiscard]] std::span<std::byte> slot(std::size_t index) const noexcept {
    return {data_ + index * stride_, layout_.slot_size};
  }

 private:
  Device* device_{};
  Layout layout_{};
  std::size_t stride_{};
  std::byte* data_{};
  std::string shortfall_;
};

}  // namespace offramp
