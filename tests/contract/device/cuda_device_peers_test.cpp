// SPDX-License-Identifier: Apache-2.0
#include "contract/device/cuda_device_kit.hpp"
#include "contract/device_contract.hpp"

#include <offramp/cuda/peers.hpp>
#include <offramp/cuda/stream.hpp>

namespace offramp::testing_device {

INSTANTIATE_TEST_SUITE_P(SecondCuda, DeviceContract, testing::Values(gpu<1>),
                         [](const auto&) { return "cuda1"; });

class CudaPeers : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu<1>()) GTEST_SKIP() << "there is no second GPU; " << absent_devices();
  }
};

TEST_F(CudaPeers, EveryGpuCopiesToEveryOther) {
  constexpr std::size_t size = 3 << 20;
  const int count = driver_facts().devices;
  const HostSlab slab(cuda_device(0), {.slots = 2, .slot_size = size});
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      std::ranges::fill(slab.slot(0), std::byte(from * 16 + to + 1));
      std::ranges::fill(slab.slot(1), std::byte{0});
      const Stream source = cuda_device(from).make_stream();
      const Stream target = cuda_device(to).make_stream();
      Event written = cuda_device(from).make_event();
      Event moved = cuda_device(to).make_event();
      const Buffer first(source, cuda_device(from).memory(), size);
      const Buffer second(target, cuda_device(to).memory(), size);
      Event ready = cuda_device(to).make_event();
      ready.record(target);  // second's memory is there in the order of `target`
      cuda_device(from).copy_async(source, {first.data(), slab.slot(0).data(), size});
      // By the stream of either end, in turn.
      if ((from + to) % 2 == 0) {
        source.ref().wait(ready);
        cuda_device(from).copy_async(source, {second.data(), first.data(), size});
        written.record(source);
        target.ref().wait(written);
      } else {
        written.record(source);
        target.ref().wait(written);
        cuda_device(to).copy_async(target, {second.data(), first.data(), size});
      }
      moved.record(target);
      cuda_device(to).copy_async(target, {slab.slot(1).data(), second.data(), size});
      target.ref().sync();
      source.ref().sync();
      ASSERT_TRUE(std::ranges::equal(slab.slot(0), slab.slot(1)))
          << from << " to " << to
          << (peer_matrix().direct(from, to) ? ", direct" : ", by the host");
    }
  }
}

TEST_F(CudaPeers, AStreamOfAnotherGpuIsRefused) {
  const Stream stream = cuda_device(1).make_stream();
  EXPECT_THROW(static_cast<void>(stream_ref(0, native(stream))), LogicError);
  EXPECT_EQ(stream_ref(1, native(stream)), stream.ref());
  EXPECT_EQ(ordinal_of(cuda_device(1)), 1);
}

TEST_F(CudaPeers, TheMatrixIsWhatTheRuntimeSays) {
  ASSERT_EQ(peer_matrix().count(), driver_facts().devices);
  for (int from = 0; from < peer_matrix().count(); ++from) {
    for (int to = 0; to < peer_matrix().count(); ++to) {
      int can = from == to;
      if (from != to) {
        ASSERT_EQ(cudaDeviceCanAccessPeer(&can, from, to), cudaSuccess);
      }
      EXPECT_EQ(peer_matrix().direct(from, to), can == 1);
    }
  }
}

}  // namespace offramp::testing_device
