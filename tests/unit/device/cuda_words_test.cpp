// SPDX-License-Identifier: Apache-2.0
// What the CUDA device says and decides, without a GPU.
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/numa.hpp"

#include <offramp/cuda/peers.hpp>
#include <offramp/cuda/stream.hpp>
#include <offramp/device/device_table.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

namespace offramp {
namespace {

using testing::HasSubstr;

TEST(CudaDriver, ItsAbsenceIsToldInWords) {
  EXPECT_EQ(why_no_gpu({.has_library = true, .version = 13000, .devices = 1}), "");
  EXPECT_EQ(why_no_gpu({.result = cudaErrorInsufficientDriver}),
            "no NVIDIA driver (libcuda.so.1) on this machine");
  EXPECT_EQ(
      why_no_gpu({.has_library = true, .version = 12080, .result = cudaErrorInsufficientDriver}),
      "the NVIDIA driver is too old: it supports CUDA 12.8, this build needs 13.0 (driver 580 "
      "or newer)");
  const DriverFacts none{.has_library = true, .version = 13000, .result = cudaErrorNoDevice};
  EXPECT_EQ(why_no_gpu(none), "the NVIDIA driver finds no GPU");
  DriverFacts hidden = none;
  hidden.visible = "";
  EXPECT_EQ(why_no_gpu(hidden), "no GPU visible: CUDA_VISIBLE_DEVICES is empty");
  hidden.visible = "9";
  EXPECT_EQ(why_no_gpu(hidden), "no GPU visible: CUDA_VISIBLE_DEVICES is \"9\"");
  EXPECT_THAT(
      why_no_gpu({.has_library = true, .version = 13000, .result = cudaErrorSystemNotReady}),
      testing::AllOf(HasSubstr("does not start"), HasSubstr("cudaErrorSystemNotReady")));
}

TEST(CudaDriver, TheTableHasItsRowOnEveryMachine) {
  const DeviceRow& row = device_table().back();
  ASSERT_EQ(row.kind, "cuda");
  if (row.count() > 0) GTEST_SKIP() << "this machine has a GPU";
  const auto found = find_device("cuda:0");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::not_found);
  EXPECT_THAT(found.error().message(),
              testing::AllOf(HasSubstr(row.why_not()), HasSubstr("use --device auto or host")));
  EXPECT_THROW(static_cast<void>(row.get(0)), LogicError);
  EXPECT_EQ(peer_matrix().count(), 0);
}

TEST(CudaError, SaysWhatWhereAndWhatToDo) {
  const CudaAttempt attempt{.action = "record an event", .device = "cuda:3", .size = 77};
  const Error fault = cuda_failure(cudaErrorIllegalAddress, attempt);
  EXPECT_EQ(fault.code, ErrorCode::device);
  EXPECT_THAT(fault.what, HasSubstr("cannot record an event on cuda:3: "));
  EXPECT_THAT(fault.what, HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_THAT(fault.remedy, HasSubstr("start the program again"));
  EXPECT_THAT(cuda_failure(cudaErrorNoKernelImageForDevice, attempt).remedy,
              HasSubstr("CMAKE_CUDA_ARCHITECTURES"));
  EXPECT_THAT(cuda_failure(cudaErrorUnknown, attempt).remedy, HasSubstr("nvidia-smi"));
}

TEST(CudaError, HasTheTypeOfItsCause) {
  const CudaAttempt attempt{.action = "allocate", .device = "cuda:0", .size = 77};
  EXPECT_NO_THROW(check_cuda(cudaSuccess, attempt));
  try {
    check_cuda(cudaErrorMemoryAllocation, attempt);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.error().code, ErrorCode::out_of_memory);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("77 bytes"), HasSubstr("cuda:0")));
  }
  try {
    check_cuda(cudaErrorLaunchFailure, attempt);
    FAIL();
  } catch (const OutOfMemory&) {
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_EQ(error.error().code, ErrorCode::device);
  }
  EXPECT_TRUE(is_sticky(cudaErrorLaunchFailure));
  EXPECT_FALSE(is_sticky(cudaErrorMemoryAllocation));
  EXPECT_FALSE(is_sticky(cudaErrorInvalidValue));
}

TEST(PeerMatrix, HoldsWhatTheDriverSaidOfEachOrderedPair) {
  std::multiset<std::pair<int, int>> asked;
  const PeerMatrix matrix(4, [&](int from, int to) {
    asked.insert({from, to});
    return from / 2 == to / 2 || (from == 0 && to == 3);  // two pairs, and one way between them
  });
  EXPECT_EQ(asked.size(), 12u);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      EXPECT_EQ(asked.count({from, to}), from == to ? 0u : 1u);
      EXPECT_EQ(matrix.direct(from, to), from / 2 == to / 2 || (from == 0 && to == 3));
    }
  }
  EXPECT_FALSE(matrix.direct(0, 4));
  EXPECT_FALSE(matrix.direct(-1, 0));
  EXPECT_EQ(PeerMatrix(0, [](int, int) { return true; }).count(), 0);
}

TEST(Numa, ANodeIsReadFromTheTreeOfPciDevices) {
  const auto tree =
      std::filesystem::temp_directory_path() / ("offramp_numa_" + std::to_string(getpid()));
  const auto add = [&](const char* id, const char* text) {
    std::filesystem::create_directories(tree / id);
    std::ofstream(tree / id / "numa_node") << text;
  };
  add("0000:1b:00.0", "1\n");
  add("0000:1c:00.0", "-1\n");
  add("0000:1d:00.0", "");
  EXPECT_EQ(numa_node_of("0000:1B:00.0", tree), 1);
  EXPECT_EQ(numa_node_of("0000:1C:00.0", tree), std::nullopt);
  EXPECT_EQ(numa_node_of("0000:1D:00.0", tree), std::nullopt);
  EXPECT_EQ(numa_node_of("0000:1E:00.0", tree), std::nullopt);
  std::filesystem::remove_all(tree);
}

TEST(Numa, HostMemoryIsKnown) {
  EXPECT_GT(available_host_memory(), std::size_t{1} << 20);
  EXPECT_LT(available_host_memory(), std::size_t{1} << 50);
}

TEST(CudaInterop, RefusesWhatIsNotCuda) {
  const Stream stream = host_device().make_stream();
  const Event event = host_device().make_event();
  EXPECT_THROW(static_cast<void>(native(stream)), LogicError);
  EXPECT_THROW(static_cast<void>(native(event)), LogicError);
  EXPECT_THROW(static_cast<void>(ordinal_of(host_device())), LogicError);
  EXPECT_THROW(static_cast<void>(make_stream(host_device(), 0)), LogicError);
  EXPECT_THROW(static_cast<void>(
                   stream_ref(host_device(), static_cast<cudaStream_t>(stream.ref().native()))),
               LogicError);
  EXPECT_THROW(static_cast<void>(stream_ref(-1, cudaStreamLegacy)), LogicError);
}

}  // namespace
}  // namespace offramp
