// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of the stages against their host functions: the same bytes, the same refusals,
// nothing written outside.
#include "contract/stage/cuda_stage_kit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <tuple>

namespace offramp {
namespace {

using testing_samples::Kind;
using testing_stage::Bytes;
using testing_stage::CudaStageTest;
using testing_stage::Tensor;

constexpr std::array stages{StageId::exact, StageId::exact_dense};

std::string name_of_stage(StageId stage) {
  return stage == StageId::exact ? "exact" : "exact_dense";
}

class CudaStage : public CudaStageTest, public testing::WithParamInterface<StageId> {
 protected:
  StageId stage() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Stages, CudaStage, testing::ValuesIn(stages),
                         [](const auto& tested) { return name_of_stage(tested.param); });

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {1},           {3},         {63},      {64},       {65},         {4096},      {16384},
      {16385},       {256, 64},   {512, 64}, {300, 64},  {256, 65},    {600, 192},  {1024, 576},
      {3, 1024, 64}, {2, 70, 80}, {7, 3},    {1000, 48}, {5, 300, 16}, {2, 3, 4, 5}};
  return all;
}

class CudaStageKind : public CudaStageTest,
                      public testing::WithParamInterface<std::tuple<StageId, Kind>> {
 protected:
  StageId stage() const override { return std::get<0>(GetParam()); }
  static Kind kind() { return std::get<1>(GetParam()); }
};

TEST_P(CudaStageKind, MakesTheHostsBytesForEveryDtypeAndShape) {
  for (const DType dtype : testing_samples::all_dtypes()) {
    std::vector<Tensor> tensors;
    std::uint64_t seed = 1;
    for (const Shape& shape : shapes()) tensors.push_back(make(dtype, shape, kind(), seed++));
    check_round_trip(tensors);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaStageKind,
                         testing::Combine(testing::ValuesIn(stages),
                                          testing::ValuesIn(testing_samples::all_kinds)),
                         [](const auto& tested) {
                           return name_of_stage(std::get<0>(tested.param)) + "_" +
                                  std::string(testing_samples::name_of(std::get<1>(tested.param)));
                         });

TEST_P(CudaStageKind, OneTile) {
  check_round_trip({make(DType::bf16, {256, 64}, kind(), 1)});
  check_round_trip({make(DType::bf16, {200, 64}, kind(), 1)});
}

TEST_P(CudaStage, RealTensorsOneByOneAndTogether) {
  for (const auto* file : {"kv_docs", "hidden_docs", "grad_docs"}) {
    std::vector<Tensor> tensors;
    for (auto& real : testing_samples::real_tensors(file, 8)) {
      tensors.push_back({real.desc, std::move(real.bytes), real.name});
    }
    ASSERT_FALSE(tensors.empty()) << file;
    check_round_trip(tensors);
    for (const Tensor& tensor : tensors) check_round_trip({tensor});
  }
}

TEST_P(CudaStage, MisalignedValues) {
  std::vector<Tensor> tensors;
  for (const Kind kind : {Kind::channels, Kind::sparse, Kind::mixed}) {
    tensors.push_back(make(DType::bf16, {600, 64}, kind, 5));
    tensors.push_back(make(DType::fp32, {300, 72}, kind, 6));
  }
  for (const std::size_t skew : {2u, 6u, 8u, 1u}) check_round_trip(tensors, skew);
}

TEST_P(CudaStage, OddTilesAmongOrdinaryOnes) {
  // Ordinary tiles with a run of zeros, of noise, and of both somewhere: bodies move.
  std::vector<Tensor> tensors;
  std::mt19937 random(9);
  for (int i = 0; i < 12; ++i) {
    Tensor tensor = make(DType::bf16, {2, 2048, 64}, Kind::channels, 20 + i);
    const auto tile = [&](std::size_t number, int with) {
      auto* at = tensor.bytes.data() + number * 32768;
      for (std::size_t k = 0; k < 32768; ++k) {
        at[k] = with == 0 ? std::byte{} : static_cast<std::byte>(random());
      }
    };
    for (int n = 0; n < i; ++n) tile(random() % 16, static_cast<int>(random() % 2));
    tensor.name += " odd " + std::to_string(i);
    tensors.push_back(std::move(tensor));
  }
  check_round_trip(tensors);
}

// Exponents of so many values, all as often: the more, the larger a tile's heap piece.
Tensor with_exponents(const Shape& shape, unsigned from, std::uint32_t seed) {
  const TensorDesc desc{DType::bf16, shape};
  Tensor tensor{desc, Bytes(desc.size()), testing_stage::describe(desc, "exponents")};
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < tensor.bytes.size(); i += 2) {
    const std::size_t tile = i / 32768;
    const auto spread = static_cast<std::uint32_t>(from + (tile * 7 + seed) % 5 * 3);
    const auto word =
        static_cast<std::uint16_t>((random() & 0x807f) | (100 + random() % spread) << 7);
    std::memcpy(tensor.bytes.data() + i, &word, 2);
  }
  return tensor;
}

TEST_P(CudaStage, LargeHeapPieces) {
  for (const unsigned from : {4u, 8u, 12u, 20u}) {
    std::vector<Tensor> tensors;
    for (const Shape& shape :
         {Shape{256, 64}, Shape{1024, 64}, Shape{3000, 64}, Shape{1024, 192}, Shape{2, 700, 160}}) {
      tensors.push_back(with_exponents(shape, from, from + 1));
    }
    check_round_trip(tensors);
    check_round_trip({tensors[2]});
  }
}

TEST_P(CudaStage, OrdinaryTilesAmongLargeHeapPieces) {
  // Tile 15's piece belongs where that of tile 5 waits.
  Tensor tensor = make(DType::bf16, {4096, 64}, Kind::channels, 8);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < tensor.bytes.size(); i += 2) {
    if (i / 32768 == 5 || i / 32768 == 15) continue;
    const auto exponent = random() % 64 == 0 ? 1 + random() % 254 : 100 + random() % 14;
    const auto word = static_cast<std::uint16_t>((random() & 0x807f) | exponent << 7);
    std::memcpy(tensor.bytes.data() + i, &word, 2);
  }
  if (stage() == StageId::exact) {
    const Bytes coded = host_encode(tensor);
    std::uint64_t heap_size = 0;
    std::memcpy(&heap_size, coded.data() + 16, 8);
    EXPECT_GT(heap_size, 16u * 8192) << "this tests nothing";
  }
  check_round_trip({tensor});
  check_round_trip({tensor, make(DType::bf16, {4096, 64}, Kind::channels, 9), tensor});
}

TEST_P(CudaStage, ManySmallChunksInOneCall) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 700; ++i) {
    tensors.push_back(make(DType::bf16, {static_cast<std::uint64_t>(16 + i % 5 * 100), 64},
                           i % 50 == 3 ? Kind::sparse : Kind::channels, 100 + i));
  }
  check_round_trip(tensors);
  tensors.resize(100);
  for (int i = 0; i < 100; ++i) tensors[i] = make(DType::bf16, {512, 64}, Kind::channels, 900 + i);
  check_round_trip(tensors);
}

TEST_P(CudaStage, RefusesWhatTheHostRefuses) {
  std::mt19937_64 random(3);
  std::vector<Bytes> damaged;
  std::vector<TensorDesc> descs;
  const std::vector<Tensor> tensors{make(DType::bf16, {768, 64}, Kind::channels, 1),
                                    make(DType::bf16, {300, 100}, Kind::mixed, 2),
                                    make(DType::fp32, {300, 64}, Kind::sparse, 3),
                                    make(DType::i16, {300, 64}, Kind::ramp, 4)};
  for (const Tensor& tensor : tensors) {
    const Bytes coded = host_encode(tensor);
    for (int i = 0; i < 120; ++i) {
      Bytes bytes = coded;
      const std::size_t size = bytes.size();
      // Mostly in the header, the directories and the heap.
      const std::size_t at = i % 3 == 0   ? random() % 48
                             : i % 3 == 1 ? size - 1 - random() % 600
                                          : random() % size;
      if (i % 10 == 9) {
        bytes.resize(random() % size);
      } else {
        bytes[at % size] ^= std::byte{1} << static_cast<int>(random() % 8);
      }
      damaged.push_back(std::move(bytes));
      descs.push_back(tensor.desc);
    }
  }
  std::vector<std::uint32_t> status;
  decode(damaged, descs, status);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    EXPECT_EQ(status[i] == 0, host_takes(damaged[i], descs[i]))
        << i << ": " << std::hex << status[i];
    EXPECT_EQ(cuda::check_status(status[i]).has_value(), status[i] == 0);
    refused += status[i] != 0;
  }
  EXPECT_GT(refused, 100u);
}

TEST_P(CudaStage, RunsFromAGraph) {
  const Tensor tensor = make(DType::bf16, {3, 1024, 64}, Kind::mixed, 7);
  const DeviceBytes in = place(tensor.bytes.size(), tensor.bytes);
  const DeviceBytes out = place(row().max_encoded_size(tensor.desc));
  const DeviceBytes size = place(8);
  const std::vector<cuda::EncodeChunk> chunks{
      {tensor.desc, in.data(), out.data(), reinterpret_cast<std::uint64_t*>(size.data())}};
  const auto scratch = scratch_for(cuda::encode_scratch_size(stage(), std::array{tensor.desc}));
  cudaGraph_t graph{};
  cudaGraphExec_t exec{};
  const cudaStream_t stream = native(stream_);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cuda::encode_async(stream_, stage(), chunks, scratch.scratch);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  const Bytes expected = host_encode(tensor);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    stream_.ref().sync();
    Bytes got = fetch(out, "graph");
    got.resize(expected.size());
    EXPECT_TRUE(got == expected);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace offramp
