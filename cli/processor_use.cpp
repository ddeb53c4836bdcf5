// SPDX-License-Identifier: Apache-2.0
#include "processor_use.hpp"

#include <sched.h>

#include <fstream>
#include <sstream>
#include <string>

namespace offramp::cli {

ProcessorUse::ProcessorUse() : start_(now()) {}

double ProcessorUse::busy() const {
  const Ticks end = now();
  if (end.all <= start_.all || end.idle < start_.idle) return 0;
  const auto all = static_cast<double>(end.all - start_.all);
  const auto idle = static_cast<double>(end.idle - start_.idle);
  return idle > all ? 0 : 1 - idle / all;
}

// Of the system's own account: "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..."
ProcessorUse::Ticks ProcessorUse::now() {
  cpu_set_t ours;
  const bool known = ::sched_getaffinity(0, sizeof ours, &ours) == 0;
  Ticks ticks;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int processor = 0;
    if (line[3] == ' ' || !(words >> processor)) continue;  // the sum of all
    if (known && (processor >= CPU_SETSIZE || !CPU_ISSET(processor, &ours))) continue;
    std::uint64_t count = 0;
    for (int field = 0; field < 8 && words >> count; ++field) {
      ticks.all += count;
      if (field == 3 || field == 4) ticks.idle += count;
    }
  }
  return ticks;
}

}  // namespace offramp::cli
