// SPDX-License-Identifier: Apache-2.0
#include "contract/device/cuda_device_kit.hpp"
#include "device/cuda/numa.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace offramp::testing_device {

using testing::HasSubstr;
using CudaMemory = OnGpu;

namespace {

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t gib = 1 << 30;

// Of this process, in bytes: resident and locked by drivers.
std::size_t status_bytes(std::string_view field) {
  std::ifstream file("/proc/self/status");
  for (std::string name; file >> name;) {
    std::size_t kib = 0;
    if (name == field && file >> kib) return kib * 1024;
    std::getline(file, name);
  }
  return 0;
}

}  // namespace

TEST_F(CudaMemory, StaysFlatOverAThousandOpensAndCloses) {
  const auto round = [&](std::size_t at) {
    const HostSlab slab(device(), {.slots = 3, .slot_size = mib});
    const Stream stream = device().make_stream();
    Event event = device().make_event();
    std::vector<Buffer> buffers;
    for (std::size_t size : {mib, 4096 * (1 + at % 7), std::size_t{0}, 5 * mib})
      buffers.emplace_back(stream, device().memory(), size);
    device().copy_async(stream, {buffers[0].data(), slab.slot(0).data(), mib});
    device().copy_async(stream, {slab.slot(1).data(), buffers[0].data(), mib});
    device().copy_async(stream, {slab.slot(2).data(), slab.slot(1).data(), mib});
    event.record(stream);
    stream.ref().sync();
  };
  for (std::size_t at = 0; at < 20; ++at) round(at);
  const std::size_t free_before = free_memory();
  const std::size_t resident_before = status_bytes("VmRSS:");
  for (std::size_t at = 0; at < 1000; ++at) round(at);
  const std::size_t free_after = free_memory();
  EXPECT_LE(free_before, free_after + 4 * mib);  // what one round takes is 6 MiB
  EXPECT_LT(status_bytes("VmRSS:"), resident_before + 32 * mib);
}

TEST_F(CudaMemory, ThePoolGivesMostOfAnIdleGpusMemoryBack) {
  const std::size_t before = free_memory();
  if (before < 8 * gib) GTEST_SKIP() << "the GPU has too little free memory for this test";
  const Stream stream = device().make_stream();
  {
    const Buffer buffer(stream, device().memory(), 6 * gib);
    stream.ref().sync();
    EXPECT_LE(free_memory(), before - 5 * gib);
  }
  stream.ref().sync();
  EXPECT_GE(free_memory() + gib + 64 * mib, before);
}

TEST_F(CudaMemory, RunningOutOfItIsAnErrorThatTheNextAllocationDoesNotSee) {
  const Stream stream = device().make_stream();
  const std::size_t piece = std::max(free_memory() / 16, gib);
  std::vector<Buffer> held;
  try {
    for (int at = 0; at < 64; ++at) held.emplace_back(stream, device().memory(), piece);
    FAIL() << "64 pieces of a sixteenth of the free memory";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.error().code, ErrorCode::out_of_memory);
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr(std::to_string(piece) + " bytes"),
                               HasSubstr("device memory of cuda:0"), HasSubstr("GiB are free"),
                               HasSubstr("smaller chunks or fewer slots")));
  }
  EXPECT_GE(held.size(), 8u);
  const std::size_t count = held.size();
  held.clear();
  stream.ref().sync();
  for (std::size_t at = 0; at < count; ++at) held.emplace_back(stream, device().memory(), piece);
  const HostSlab slab(device(), {.slots = 2, .slot_size = mib});
  std::ranges::fill(slab.slot(0), std::byte{9});
  device().copy_async(stream, {held.back().data(), slab.slot(0).data(), mib});
  device().copy_async(stream, {slab.slot(1).data(), held.back().data(), mib});
  stream.ref().sync();
  EXPECT_TRUE(std::ranges::equal(slab.slot(0), slab.slot(1)));
}

TEST_F(CudaMemory, LockingMoreOfTheHostThanThereIsIsRefusedWithARemedy) {
  const std::size_t size = available_host_memory() + 64 * gib;
  try {
    const HostSlab slab(device(), {.slots = 4, .slot_size = size / 4});
    FAIL() << "locked " << size << " bytes";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("page-locked host memory for cuda:0"), HasSubstr("GiB"),
                               HasSubstr("fewer or smaller host slots")));
  }
  const HostSlab next(device(), {.slots = 4, .slot_size = mib});
  EXPECT_FALSE(device().is_pageable(next.slot(3).data()));
}

TEST_F(CudaMemory, SlotsLieOnTheGpusNode) {
  char pci_id[32]{};
  ASSERT_EQ(cudaDeviceGetPCIBusId(pci_id, sizeof pci_id, 0), cudaSuccess);
  const auto node = numa_node_of(pci_id);
  if (!node) GTEST_SKIP() << "the machine does not say on which node " << pci_id << " is";
  const HostSlab slab(device(), {.slots = 4, .slot_size = 4 * mib});
  for (std::size_t at = 0; at < 4; ++at) {
    void* page = slab.slot(at).data();
    int found = -1;
    ASSERT_EQ(syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &found, 0), 0);
    EXPECT_EQ(found, *node);
  }
}

}  // namespace offramp::testing_device
