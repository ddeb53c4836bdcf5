// SPDX-License-Identifier: Apache-2.0
// The frame writer on a GPU: the contract, and what many chunks and writers leave behind.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/frame_writer/frame_writer_contract.hpp"

namespace offramp::testing_frame_writer {

INSTANTIATE_TEST_SUITE_P(Cuda, FrameWriterContract, testing::Values(testing_device::gpu<0>));

namespace {

class CudaFrameWriter : public testing_device::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    stream = device().make_stream();
    const Sample sample = testing_frames::make_sample({.dtype = DType::bf16,
                                                       .layout = Layout::cnhw,
                                                       .size = {.width = 832, .height = 480},
                                                       .frames = 4,
                                                       .range = {.low = -1, .high = 1}});
    source = Buffer(stream, device().memory(), sample.bytes.size());
    device().copy_async(
        stream, {.to = source.data(), .from = sample.bytes.data(), .size = sample.bytes.size()});
    stream.ref().sync();
    view = sample.at(source.data());
    format.pixels = PixelFormat::yuv420p;
    format.width = 832;
    format.height = 480;
  }

  FrameWriter writer() {
    FrameWriterSettings settings;
    settings.device = &device();
    const auto sink = std::make_shared<VectorSink>(false);
    sink->keeps = false;
    return FrameWriter(settings, format, sink);
  }

  Stream stream;
  Buffer source;
  FrameView view;
  FrameFormat format;
};

TEST_F(CudaFrameWriter, TenThousandChunksLeaveDeviceMemoryFlat) {
  FrameWriter writer = this->writer();
  for (int at = 0; at < 100; ++at) writer.submit(stream, view);
  const std::size_t before = free_memory();
  for (int at = 0; at < 10'000; ++at) writer.submit(stream, view);
  EXPECT_EQ(free_memory(), before);
  writer.close();
  EXPECT_EQ(writer.counters().parts_out, 40'400u);
}

TEST_F(CudaFrameWriter, AHundredWritersLeaveDeviceMemoryFlat) {
  const auto open_and_close = [&](int count) {
    for (int at = 0; at < count; ++at) {
      FrameWriter writer = this->writer();
      writer.submit(stream, view);
      if (at % 3 == 0) writer.close();
      if (at % 3 == 1) writer.cancel();
    }
  };
  open_and_close(10);
  const std::size_t before = free_memory();
  open_and_close(100);
  EXPECT_GE(free_memory() + (32u << 20), before) << "the pool keeps pages of 32 MiB";
}

}  // namespace
}  // namespace offramp::testing_frame_writer
