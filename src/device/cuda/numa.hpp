// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace offramp {

/// The memory node beside a PCI device ("0000:1B:00.0"), as the kernel's tree at `sysfs` tells it.
/// Nothing on a machine of one node, or in a virtual machine that does not say.
[[nodiscard]] std::optional<int> numa_node_of(std::string_view pci_id,
                                              const std::string& sysfs = "/sys/bus/pci/devices");

/// Asks for the pages of [data, data + size), not touched yet, from `node` while it has some.
/// A hint: where the kernel refuses, pages come from anywhere.
void prefer_numa_node(void* data, std::size_t size, int node) noexcept;

/// Memory of the host that a program can still take without swapping: the kernel's estimate, or
/// this container's limit where that is lower; SIZE_MAX where neither can be read.
[[nodiscard]] std::size_t available_host_memory() noexcept;

}  // namespace offramp
