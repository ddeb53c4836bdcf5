// SPDX-License-Identifier: Apache-2.0
// What a failing kernel leaves behind. It takes the process's context with it, so it fails in a
// process of its own.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/device/cuda_device_trap.hpp"

#include <offramp/cuda/stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace offramp::testing_device {

using CudaFailure = OnGpu;

namespace {

// 0: a MachineError that names the device and the remedy.
int tell(const char* what, const std::function<void()>& action) {
  try {
    action();
    std::fprintf(stderr, "%s: no error\n", what);
    return 1;
  } catch (const MachineError& error) {
    std::fprintf(stderr, "%s: %s\n", what, error.what());
    return error.error().code != ErrorCode::device;
  }
}

[[noreturn]] void fail_a_kernel() {
  int wrong = 0;
  {
    Device& device = *gpu<0>();
    const HostSlab slab(device, {.slots = 1, .slot_size = 4096});
    const Stream stream = device.make_stream();
    const Stream other = device.make_stream();
    Event event = device.make_event();
    const Buffer buffer(stream, device.memory(), 4096);
    stream.ref().sync();
    {
      const ContextGuard guard(cuda_device(0).context());
      launch_trap(native(stream));
    }
    wrong += tell("sync", [&] { stream.ref().sync(); });
    wrong += tell("is_done", [&] { static_cast<void>(stream.ref().is_done()); });
    wrong += tell("record", [&] { event.record(other); });
    wrong += tell("copy", [&] {
      device.copy_async(other, {buffer.data(), slab.slot(0).data(), 4096});
    });
    wrong += tell("stream", [&] { static_cast<void>(device.make_stream()); });
    wrong += tell("buffer", [&] { Buffer(other, device.memory(), 4096); });
  }  // destructors neither throw nor hang
  std::fprintf(stderr, "%d wrong\n", wrong);
  std::_Exit(wrong);
}

}  // namespace

TEST_F(CudaFailure, AFailedKernelIsReportedByEachLaterCallAndTheNextProcessWorks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process: the driver survives no fork
  EXPECT_EXIT(fail_a_kernel(), testing::ExitedWithCode(0),
              "sync: cannot finish a stream's work on cuda:0: .*start the program again");
  const HostSlab slab(device(), {.slots = 2, .slot_size = 4096});
  std::ranges::fill(slab.slot(0), std::byte{4});
  const Stream stream = device().make_stream();
  const Buffer buffer(stream, device().memory(), 4096);
  device().copy_async(stream, {buffer.data(), slab.slot(0).data(), 4096});
  device().copy_async(stream, {slab.slot(1).data(), buffer.data(), 4096});
  stream.ref().sync();
  EXPECT_TRUE(std::ranges::equal(slab.slot(0), slab.slot(1)));
}

}  // namespace offramp::testing_device
