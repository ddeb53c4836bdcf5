// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device_table.hpp>

#include <string>

namespace offramp {

[[nodiscard]] int cuda_count() noexcept;
[[nodiscard]] std::string why_no_cuda();
[[nodiscard]] Device& get_cuda(int ordinal);

/// The GPUs that the driver shows, as a row of the device table.
inline constexpr DeviceRow cuda_row{
    .kind = "cuda", .count = cuda_count, .why_not = why_no_cuda, .get = get_cuda};

}  // namespace offramp
