// SPDX-License-Identifier: Apache-2.0
// A kernel that fails beside the offloader. It takes the process's context with it, so it fails in
// a process of its own.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/device/cuda_device_trap.hpp"
#include "contract/offload_kit.hpp"
#include "contract/tensor_samples.hpp"

#include <offramp/cuda/stream.hpp>

#include <cstdio>
#include <cstdlib>

namespace offramp::testing_offload {

using CudaOffloadFailure = testing_device::OnGpu;

namespace {

// 0: every call says what happened, and everything ends soon.
[[noreturn]] void fail_a_kernel() {
  int wrong = 0;
  const auto start = std::chrono::steady_clock::now();
  {
    Device& device = *testing_device::gpu<0>();
    const Stream stream = device.make_stream();
    const TensorDesc desc{DType::bf16, {1000, 64}};
    const OnDevice tensor = put(device, stream, desc,
                                testing_samples::sample(desc, testing_samples::Kind::channels, 1));
    const ChunkTensor part = whole_of("t", tensor);
    const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
    const auto sink = std::make_shared<KeepingSink>();
    Offloader offloader(small_offloader(device), codec("exact"), sink);
    offloader.submit(stream, chunk).wait_durable().value();
    {
      const ContextGuard guard(cuda_device(0).context());
      testing_device::launch_trap(native(stream));
    }
    try {
      const Ticket ticket = offloader.submit(stream, chunk);
      const auto durable = ticket.wait_durable();
      static_cast<void>(ticket.wait_staged());
      if (durable) ++wrong;
      if (!durable) std::fprintf(stderr, "ticket: %s\n", durable.error().message().c_str());
    } catch (const MachineError& error) {
      std::fprintf(stderr, "submit: %s\n", error.what());
    }
    try {
      offloader.submit(stream, chunk);
      ++wrong;
    } catch (const MachineError& error) {
      std::fprintf(stderr, "later: %s\n", error.what());
      wrong += error.error().code != ErrorCode::device;
    }
    wrong += sink->records.size() != 2;  // parts of the first chunk: nothing was lost
  }
  if (std::chrono::steady_clock::now() - start > std::chrono::seconds(8)) ++wrong;
  std::fprintf(stderr, "%d wrong\n", wrong);
  std::_Exit(wrong);
}

}  // namespace

TEST_F(CudaOffloadFailure, AFailedKernelIsReportedAndTheNextProcessWorks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process: the driver survives no fork
  EXPECT_EXIT(fail_a_kernel(), testing::ExitedWithCode(0), "later: .*start the program again");
  const Stream stream = device().make_stream();
  const OnDevice tensor = put(device(), stream, bf16(4000), smooth_bytes(8000, 1));
  const ChunkTensor part = whole_of("t", tensor);
  Offloader offloader(small_offloader(device()), codec("exact"));
  EXPECT_TRUE(offloader.keep(stream, {.tensors = {&part, 1}, .keep_alive = {}})
                  .value()
                  .ticket()
                  .wait_durable());
}

}  // namespace offramp::testing_offload
