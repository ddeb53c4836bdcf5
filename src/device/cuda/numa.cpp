// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <limits>

namespace offramp {
namespace {

std::size_t kernel_estimate() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return SIZE_MAX;
}

std::size_t container_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::size_t limit = 0;
  return file >> limit ? limit : SIZE_MAX;  // "max" is no number
}

}  // namespace

std::optional<int> numa_node_of(std::string_view pci_id, const std::string& sysfs) {
  std::string id(pci_id);
  std::ranges::transform(id, id.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file(sysfs + "/" + id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

void prefer_numa_node(void* data, std::size_t size, int node) noexcept {
  constexpr int bits = std::numeric_limits<unsigned long>::digits;
  unsigned long nodes[16]{};
  if (node < 0 || node >= bits * 16) return;
  nodes[node / bits] = 1ul << (node % bits);
  // Not through libnuma: this one call is all of it that is needed. Refused, it changes nothing.
  (void)syscall(SYS_mbind, data, size, MPOL_PREFERRED, nodes, bits * 16ul, 0u);
}

std::size_t available_host_memory() noexcept {
  try {
    return std::min(kernel_estimate(), container_limit());
  } catch (...) {
    return SIZE_MAX;
  }
}

}  // namespace offramp
