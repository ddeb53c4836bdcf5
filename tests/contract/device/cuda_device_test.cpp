// SPDX-License-Identifier: Apache-2.0
#include "contract/device/cuda_device_kit.hpp"
#include "contract/device_contract.hpp"

#include <offramp/cuda/stream.hpp>

#include <thread>

namespace offramp::testing_device {

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceContract, testing::Values(gpu<0>),
                         [](const auto&) { return "cuda0"; });

using CudaDeviceTest = OnGpu;

TEST_F(CudaDeviceTest, IsInTheTableUnderItsName) {
  const auto found = find_device("cuda:0");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->name(), "cuda:0");
  EXPECT_EQ(*find_device("auto"), *found);
  EXPECT_EQ(ordinal_of(**found), 0);
  EXPECT_FALSE(find_device("cuda:99"));
}

TEST_F(CudaDeviceTest, ManyStreamsWorkAtOnce) {
  constexpr std::size_t count = 96;
  constexpr std::size_t size = 256 << 10;
  const HostSlab in(device(), {.slots = count, .slot_size = size});
  const HostSlab out(device(), {.slots = count, .slot_size = size});
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  for (std::size_t at = 0; at < count; ++at) streams.push_back(device().make_stream());
  for (int round = 0; round < 5; ++round) {
    buffers.clear();
    for (std::size_t at = 0; at < count; ++at) {
      std::ranges::fill(in.slot(at), std::byte(at + round + 1));
      std::ranges::fill(out.slot(at), std::byte{0});
    }
    for (std::size_t at = 0; at < count; ++at) {
      Buffer first(streams[at], device().memory(), size);
      Buffer second(streams[at], device().memory(), size);
      device().copy_async(streams[at], {first.data(), in.slot(at).data(), size});
      device().copy_async(streams[at], {second.data(), first.data(), size});
      device().copy_async(streams[at], {out.slot(at).data(), second.data(), size});
      if (at % 2 == 0) buffers.push_back(std::move(first));  // the others are freed right here
    }
    for (const Stream& stream : streams) stream.ref().sync();
    for (std::size_t at = 0; at < count; ++at)
      ASSERT_TRUE(std::ranges::equal(in.slot(at), out.slot(at))) << at;
  }
}

TEST_F(CudaDeviceTest, StreamsStandApartFromTheDefaultStream) {
  const Stream stream = device().make_stream();
  const ContextGuard guard(cuda_device(0).context());
  unsigned flags = 0;
  ASSERT_EQ(cudaStreamGetFlags(native(stream), &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
}

TEST_F(CudaDeviceTest, PrioritiesAreClampedToTheGpusRange) {
  const ContextGuard guard(cuda_device(0).context());
  int least = 0;
  int greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  for (const auto& [asked, expected] :
       {std::pair{-1000, greatest}, {greatest, greatest}, {least, least}, {1000, least}}) {
    const Stream stream = make_stream(device(), asked);
    int priority = 77;
    ASSERT_EQ(cudaStreamGetPriority(native(stream), &priority), cudaSuccess);
    EXPECT_EQ(priority, expected);
  }
}

TEST_F(CudaDeviceTest, WorksOnAStreamOfTheCaller) {
  const ContextGuard guard(cuda_device(0).context());
  cudaStream_t own = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
  const HostSlab slab(device(), {.slots = 2, .slot_size = 4096});
  std::ranges::fill(slab.slot(0), std::byte{5});
  {
    const StreamRef stream = stream_ref(0, own);
    EXPECT_EQ(stream, stream_ref(device(), own));
    EXPECT_EQ(native(stream), own);
    Buffer buffer(stream, device().memory(), 4096);
    Event event = device().make_event();
    device().copy_async(stream, {buffer.data(), slab.slot(0).data(), 4096});
    device().copy_async(stream, {slab.slot(1).data(), buffer.data(), 4096});
    event.record(stream);
    EXPECT_EQ(cudaEventSynchronize(native(event)), cudaSuccess);
    EXPECT_TRUE(std::ranges::equal(slab.slot(0), slab.slot(1)));
  }
  EXPECT_EQ(cudaStreamDestroy(own), cudaSuccess);
}

TEST_F(CudaDeviceTest, RefusesStreamsThatAreNoStreamOfItsOwn) {
  for (const cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_THROW(static_cast<void>(stream_ref(device(), stream)), LogicError);
    EXPECT_THROW(static_cast<void>(stream_ref(0, stream)), LogicError);
  }
  const Stream stream = device().make_stream();
  EXPECT_THROW(static_cast<void>(stream_ref(host_device(), native(stream))), LogicError);
  EXPECT_THROW(static_cast<void>(stream_ref(1000, native(stream))), LogicError);
}

TEST_F(CudaDeviceTest, LeavesTheCallersCurrentContextAlone) {
  const ContextCalls& calls = context_calls();
  std::thread([&] {  // a thread that never touched a GPU
    const HostSlab slab(device(), {.slots = 2, .slot_size = 4096});
    const Stream stream = device().make_stream();
    Event event = device().make_event();
    {
      const Buffer buffer(stream, device().memory(), 4096);
      device().copy_async(stream, {buffer.data(), slab.slot(0).data(), 4096});
    }
    device().copy_async(stream, {slab.slot(1).data(), slab.slot(0).data(), 4096});
    device().call_async(
        stream, [](void*) noexcept {}, nullptr);
    EXPECT_FALSE(device().is_pageable(slab.slot(0).data()));
    event.record(stream);
    stream.ref().wait(event);
    event.sync();
    stream.ref().sync();
    EXPECT_TRUE(stream.ref().is_done() && event.is_done());
    CUcontext current = nullptr;
    EXPECT_EQ(calls.get_current(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
  })
      .join();
}

TEST_F(CudaDeviceTest, LeavesNoErrorBehindWhereNothingFailed) {
  const ContextGuard guard(cuda_device(0).context());
  const Stream stream = device().make_stream();
  Event event = device().make_event();
  {
    Latch latch(stream, device());
    event.record(stream);
    EXPECT_FALSE(stream.ref().is_done());
    EXPECT_FALSE(event.is_done());
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_THROW(Buffer(stream, device().memory(), std::size_t{1} << 50), OutOfMemory);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

TEST_F(CudaDeviceTest, KnowsWhichMemoryIsPageable) {
  const std::vector<std::byte> program(4096);
  const HostSlab slab(device(), {.slots = 1, .slot_size = 1 << 20});
  const Stream stream = device().make_stream();
  const Buffer buffer(stream, device().memory(), 4096);
  EXPECT_TRUE(device().is_pageable(program.data()));
  EXPECT_FALSE(device().is_pageable(slab.slot(0).data()));
  EXPECT_FALSE(device().is_pageable(slab.slot(0).data() + (1 << 20) - 1));
  EXPECT_FALSE(device().is_pageable(buffer.data()));
}

}  // namespace offramp::testing_device
