// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace offramp {

/// Nanoseconds of std::chrono::steady_clock (as Trace has them), the end not included.
struct TimeSpan {
  std::uint64_t start_ns{};
  std::uint64_t end_ns{};

  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

/// What the GPUs of this process did between a start and a stop.
struct GpuActivityReport {
  TimeSpan window{};           ///< all below is clipped to it
  std::uint64_t kernels{};     ///< that ran in it, at least in part
  std::uint64_t busy_ns{};     ///< length of the union of the kernels' times, all streams together
  std::uint64_t to_host_ns{};  ///< likewise of the copies to the host
  std::uint64_t to_device_ns{};   ///< and of those to the device
  std::uint64_t lost_records{};   ///< that CUPTI had no room for: with any, `busy_ns` is too small
  std::vector<TimeSpan> picture;  ///< when kernels ran, the smallest gaps closed until few are left

  /// GPU busy: `busy_ns` of the window, 0 to 1.
  [[nodiscard]] double busy() const noexcept;
};

/// Records through CUPTI when kernels and copies of this process run on its GPUs: those of every
/// stream and every library. Costs each kernel launch about a microsecond or two.
class GpuActivity {
 public:
  /// Why `start` would fail (no CUDA in this build, no libcupti.so, another major version); empty
  /// where it would not. Looks for the library named by OFFRAMP_CUPTI, then where the loader does.
  [[nodiscard]] static std::string why_not();

  /// Starts to record. One at a time in a process, and none beside another profiler.
  /// @throws DataError (`unsupported`) with `why_not`, or where another one records.
  [[nodiscard]] static GpuActivity start();

  GpuActivity(GpuActivity&&) noexcept;
  GpuActivity& operator=(GpuActivity&&) noexcept;
  ~GpuActivity();

  /// Ends the recording. Work that was given to the device and is not done is left out: wait for it
  /// first. Call it once. @throws MachineError where CUPTI fails.
  [[nodiscard]] GpuActivityReport stop();

 private:
  struct Impl;
  explicit GpuActivity(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp
