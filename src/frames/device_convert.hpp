// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frames/convert_plan.hpp"

#include <offramp/device/device.hpp>

namespace offramp::frames {

/// A device's conversion.
struct DeviceConvert {
  /// Converts when the stream gets there. Allocates nothing once as many calls were under way at a
  /// time as will be.
  void (*convert_async)(Device& device, StreamRef stream, const ConvertPlan& plan){};

  /// Loads the kernels, as the seam of the codecs does (src/codec/device_codec.hpp).
  void (*load)(Device& device){};

  /// A stream whose kernels go before those of a higher number; the host knows no priorities.
  Stream (*make_stream)(Device& device, int priority){};
};

/// Of a GPU its kernel; of any other device, whose memory is the host's, the host's loops, run by
/// the stream's thread.
[[nodiscard]] const DeviceConvert& device_convert(const Device& device) noexcept;

/// The GPU's row of that table (src/frames/cuda).
[[nodiscard]] const DeviceConvert& cuda_device_convert() noexcept;

/// On the host, now.
void convert_now(const ConvertPlan& plan) noexcept;

}  // namespace offramp::frames
