// SPDX-License-Identifier: Apache-2.0
// The offloader on a GPU: the contract, races with their negative controls, and memory.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/offload_contract.hpp"

#include <offramp/transport/memory_sink.hpp>

namespace offramp::testing_offload {

INSTANTIATE_TEST_SUITE_P(Cuda, OffloadContract, testing::Values(testing_device::gpu<0>));

namespace {

class CudaOffload : public testing_device::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) stream = device().make_stream();
  }

  OnDevice channels(std::uint64_t rows, std::uint64_t seed) {
    const TensorDesc desc{DType::bf16, {rows, 64}};
    return put(device(), stream, desc, testing_samples::sample(desc, Kind::channels, seed));
  }

  /// Rounds of one tensor each, through a sink that poisons what it was given. @returns how many
  /// came out wrong. Where a copy is not waited for, the sink has to be idle when it is enqueued.
  int corrupted(MissingWait missing, const char* codec_name, std::uint64_t rows, int rounds) {
    const bool one_by_one = missing == MissingWait::landing;
    const auto sink = std::make_shared<PoisonedSink>();
    OffloaderSettings settings = small_offloader(device());
    settings.chunk_size = std::max<std::size_t>(4 << 20, rows * 128);
    settings.chunks_per_launch = 1;
    settings.device_slots = missing == MissingWait::slot ? 1 : 2;
    std::vector<OnDevice> tensors;
    const std::size_t count = one_by_one ? 1 : 3;
    for (std::uint64_t at = 0; at < count; ++at) tensors.push_back(channels(rows, at));
    const auto core = std::make_shared<OffloadCore>(settings, codec(codec_name), sink, missing);
    core->start();
    for (const OnDevice& tensor : tensors) sink->expected.push_back(tensor.bytes);
    sink->got.resize(tensors[0].bytes.size());
    for (int round = 0; round < rounds; ++round) {
      const ChunkTensor part = whole_of("t", tensors[static_cast<std::size_t>(round) % count]);
      const Ticket ticket =
          core->submit(stream, {.tensors = {&part, 1}, .keep_alive = {}}, nullptr);
      if (one_by_one) {
        EXPECT_TRUE(ticket.wait_durable());
      }
    }
    core->close(std::nullopt);
    core->end_all();
    EXPECT_EQ(sink->seen, static_cast<std::size_t>(rounds));
    return sink->wrong;
  }

  Stream stream;
};

TEST_F(CudaOffload, WithItsWaitsNothingIsEverCorrupted) {
  EXPECT_EQ(corrupted(MissingWait::none, "exact", 256, 10'000), 0);
  EXPECT_EQ(corrupted(MissingWait::none, "exact", 32'768, 200), 0);
  EXPECT_EQ(corrupted(MissingWait::none, "store", 32'768, 200), 0);
}

TEST_F(CudaOffload, WithoutTheWaitForTheSlotItCorrupts) {
  EXPECT_GT(corrupted(MissingWait::slot, "exact", 32'768, 100), 0);
}

TEST_F(CudaOffload, WithoutTheWaitForTheCopyItCorrupts) {
  EXPECT_GT(corrupted(MissingWait::landing, "exact", 262'144, 10), 0);
  EXPECT_GT(corrupted(MissingWait::landing, "store", 262'144, 10), 0);
}

TEST_F(CudaOffload, AThousandLeaveDeviceMemoryFlat) {
  const OnDevice tensor = channels(1000, 1);
  const Buffer out(stream, device().memory(), tensor.bytes.size());
  const auto open_and_close = [&](int count) {
    for (int at = 0; at < count; ++at) {
      OffloaderSettings settings = small_offloader(device());
      settings.store_size = 1 << 20;
      Offloader offloader(settings, codec("exact"));
      const ChunkTensor part = whole_of("t", tensor);
      const Kept kept = offloader.keep(stream, {.tensors = {&part, 1}, .keep_alive = {}}).value();
      std::byte* const outs[] = {out.data()};
      if (at % 2 == 0) static_cast<void>(offloader.restore(stream, kept, outs));
      if (at % 3 == 0) offloader.close();
      if (at % 3 == 1) offloader.cancel();
    }
    stream.ref().sync();
  };
  open_and_close(20);
  const std::size_t before = free_memory();
  open_and_close(1000);
  const std::size_t after = free_memory();
  EXPECT_GE(after + (32u << 20), before) << "the pool keeps pages of 32 MiB";
}

TEST_F(CudaOffload, UnpackAndVerifyOnTheGpu) {
  const auto real = testing_samples::real_tensors("kv_docs", 8);
  std::vector<NamedTensor> views;
  for (const auto& tensor : real)
    views.push_back({.name = tensor.name, .view = {.desc = tensor.desc, .bytes = tensor.bytes}});
  MemorySource source(std::move(views));
  Bytes archive;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(archive));
  JobSettings settings;
  settings.chunk_size = 256 << 10;
  settings.device = &device();
  pack(source, writer, codec("exact"), settings).value();
  const ArchiveReader reader = ArchiveReader::open(std::make_unique<MemoryAccess>(archive)).value();
  MemorySink sink;
  unpack(reader, sink, settings).value();
  for (std::size_t at = 0; at < real.size(); ++at)
    EXPECT_TRUE(std::ranges::equal(sink.bytes(at), real[at].bytes)) << real[at].name;
  EXPECT_TRUE(verify(reader, settings));
}

TEST_F(CudaOffload, RunsBesideAnotherStreamsWorkWithoutWaitingForIt) {
  const OnDevice tensor = channels(4096, 1);
  const ChunkTensor part = whole_of("t", tensor);
  Offloader offloader(small_offloader(device()), codec("exact"));
  const Stream busy = device().make_stream();
  testing_device::Latch latch(busy, device());
  EXPECT_TRUE(offloader.keep(stream, {.tensors = {&part, 1}, .keep_alive = {}})
                  .value()
                  .ticket()
                  .wait_durable());
}

TEST_F(CudaOffload, KeepsItsRingInTheCacheWhereItFits) {
  OffloaderSettings settings = small_offloader(device());
  settings.chunk_size = 8 << 20;
  settings.chunks_per_launch = 1;
  settings.device_slots = 3;
  settings.store_size = 64 << 20;
  EXPECT_GT(OffloadCore(settings, codec("exact"), nullptr).cached(), 20u << 20);
  Offloader offloader(settings, codec("exact"));
  const OnDevice tensor = channels(65'536, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Kept kept = offloader.keep(stream, {.tensors = {&part, 1}, .keep_alive = {}}).value();
  const Buffer out(stream, device().memory(), tensor.bytes.size());
  std::byte* const outs[] = {out.data()};
  offloader.restore(stream, kept, outs).wait().value();
  EXPECT_TRUE(fetch(device(), stream, out.data(), out.size()) == tensor.bytes);
}

}  // namespace
}  // namespace offramp::testing_offload
