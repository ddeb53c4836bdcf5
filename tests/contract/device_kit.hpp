// SPDX-License-Identifier: Apache-2.0
// What the tests of devices share.
#pragma once

#include <offramp/core/stream.hpp>
#include <offramp/device/device_table.hpp>

#include <atomic>
#include <string>

namespace offramp::testing_device {

/// Keeps a stream from going on until it is opened.
class Latch {
 public:
  Latch(StreamRef stream, Device& device) : stream_(stream) {
    device.call_async(
        stream, [](void* arg) noexcept { static_cast<Latch*>(arg)->open_.wait(false); }, this);
  }
  ~Latch() {
    open();
    stream_.sync();  // which still looks at the latch
  }
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  StreamRef stream_;
  std::atomic<bool> open_{false};
};

/// Why this machine lacks kinds of device that the build has; empty where it lacks none.
inline std::string absent_devices() {
  std::string text;
  for (const DeviceRow& row : device_table()) {
    if (row.count() == 0) text += std::string(row.kind) + ": " + row.why_not() + "\n";
  }
  return text;
}

}  // namespace offramp::testing_device
