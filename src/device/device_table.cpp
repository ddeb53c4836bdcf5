// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_device.hpp"
#ifdef OFFRAMP_HAS_CUDA
#include "device/cuda/cuda_row.hpp"
#endif

#include <offramp/device/device_table.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace offramp {
namespace {

// Never destroyed: streams and buffers may be released while the process unloads.
Device& host(int) {
  static HostDevice* const device = new HostDevice;
  return *device;
}

// `auto` takes the last row that has a device.
constexpr std::array table{
    DeviceRow{.kind = "host",
              .count = []() noexcept { return 1; },
              .why_not = [] { return std::string(); },
              .get = host},
#ifdef OFFRAMP_HAS_CUDA
    cuda_row,
#endif
};

Error unknown(std::string_view name) {
  std::string known;
  for (const DeviceRow& row : table)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.kind);
  return {.code = ErrorCode::not_found,
          .what = fmt::format("this build has no device \"{}\"", name),
          .path = {},
          .remedy = fmt::format("use auto or one of: {}", known)};
}

}  // namespace

std::span<const DeviceRow> device_table() noexcept { return table; }

Device& host_device() { return host(0); }

Result<Device*> find_device(std::string_view name) {
  if (name == "auto") {
    for (std::size_t at = table.size(); at-- > 0;) {
      if (table[at].count() > 0) return &table[at].get(0);
    }
  }
  const std::size_t colon = name.find(':');
  int ordinal = 0;
  if (colon != name.npos) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, ordinal);
    if (error != std::errc{} || stop != end || ordinal < 0) return unknown(name);
  }
  for (const DeviceRow& row : table) {
    if (row.kind != name.substr(0, colon)) continue;
    const int count = row.count();
    if (ordinal < count) return &row.get(ordinal);
    return Error{
        .code = ErrorCode::not_found,
        .what = count == 0 ? fmt::format("no {} device: {}", row.kind, row.why_not())
                           : fmt::format("there is no device {}: {} has {}", name, row.kind, count),
        .path = {},
        .remedy = "use --device auto or host"};
  }
  return unknown(name);
}

}  // namespace offramp
