// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/device/device.hpp>

#include <span>
#include <string>
#include <string_view>

namespace offramp {

/// One kind of device of this build.
struct DeviceRow {
  std::string_view kind{};  ///< "host", "cuda"

  /// Devices of that kind on this machine: 0 where `why_not` says why.
  int (*count)() noexcept {};

  /// Empty where there is one; else the reason, as a person can use it.
  std::string (*why_not)(){};

  /// Device number `ordinal`, below `count()`. The same object every time, never destroyed.
  Device& (*get)(int ordinal){};
};

/// All kinds of this build; `host` is always the first.
[[nodiscard]] std::span<const DeviceRow> device_table() noexcept;

/// The device of that name: "host", "KIND:NUMBER", or "auto" for the best one there is.
[[nodiscard]] Result<Device*> find_device(std::string_view name);

/// The reference device.
[[nodiscard]] Device& host_device();

}  // namespace offramp
