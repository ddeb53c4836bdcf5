// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of a stage against its host functions: the same bytes, the same refusals,
// nothing written outside.
#include "contract/device/cuda_device_kit.hpp"
#include "contract/tensor_samples.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/cuda/codec.hpp>
#include <offramp/cuda/stream.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace offramp {
namespace {

using testing_samples::Kind;
using Bytes = std::vector<std::byte>;

constexpr std::size_t guard = 256;
constexpr std::byte mark{0xa7};

struct Tensor {
  TensorDesc desc;
  Bytes bytes;
  std::string name;
};

std::string describe(const TensorDesc& desc, std::string_view kind) {
  return std::string(name_of(desc.dtype)) + desc.shape.to_string() + " " + std::string(kind);
}

class CudaStageTest : public testing_device::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    stream_ = device().make_stream();
  }

  const StageRow& row() const { return *find_stage(StageId::exact); }

  Bytes host_encode(const Tensor& tensor) {
    Bytes out(row().max_encoded_size(tensor.desc));
    Bytes scratch(row().encode_scratch_size(tensor.desc, workers_.size()));
    out.resize(row().encode({.in = {tensor.desc, tensor.bytes},
                             .params = {},
                             .out = out,
                             .scratch = scratch,
                             .workers = &workers_}));
    return out;
  }

  bool host_takes(const Bytes& coded, const TensorDesc& desc) {
    Bytes out(desc.size());
    Bytes scratch(row().decode_scratch_size(desc, workers_.size()));
    return row()
        .decode({.in = coded,
                 .desc = desc,
                 .params = {},
                 .first_elem = 0,
                 .out = out,
                 .scratch = scratch,
                 .workers = &workers_})
        .has_value();
  }

  // Device memory with `skew` bytes and a guard in front, filled with the mark, then `bytes`.
  struct DeviceBytes {
    Buffer buffer;
    std::size_t size{};
    std::size_t begin{};
    std::byte* data() const { return buffer.data() + begin; }
  };

  DeviceBytes place(std::size_t size, std::span<const std::byte> bytes = {}, std::size_t skew = 0) {
    DeviceBytes at{Buffer(stream_, device().memory(), size + 2 * guard + skew), size, guard + skew};
    Bytes image(at.buffer.size(), mark);
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<long>(at.begin));
    copy(at.buffer.data(), image.data(), image.size());
    return at;
  }

  Bytes fetch(const DeviceBytes& at, std::string_view what) {
    Bytes image(at.buffer.size());
    copy(image.data(), at.buffer.data(), image.size());
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (i == at.begin) i += at.size;
      if (i < image.size() && image[i] != mark) {
        ADD_FAILURE() << what << ": byte " << i << " of the guard was written";
        break;
      }
    }
    return {image.begin() + static_cast<long>(at.begin),
            image.begin() + static_cast<long>(at.begin + at.size)};
  }

  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    device().copy_async(stream_, {to, from, size});
    stream_.ref().sync();
  }

  struct CallScratch {
    Buffer device;
    HostSlab host;
    cuda::Scratch scratch;
  };
  CallScratch scratch_for(cuda::ScratchSize size) {
    CallScratch made{
        Buffer(stream_, device().memory(), std::max<std::size_t>(size.device, 1)), {}, {}};
    made.scratch.device = {made.device.data(), size.device};
    if (size.host != 0) {
      made.host = HostSlab(device(), {.slots = 1, .slot_size = size.host});
      made.scratch.host = made.host.slot(0);
    }
    return made;
  }

  // Codes all tensors in one call.
  std::vector<Bytes> encode(const std::vector<Tensor>& tensors, std::size_t skew = 0) {
    std::vector<TensorDesc> descs;
    std::vector<DeviceBytes> in, out;
    DeviceBytes sizes = place(8 * tensors.size());
    std::vector<cuda::EncodeChunk> chunks;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      descs.push_back(tensor.desc);
      in.push_back(place(tensor.bytes.size(), tensor.bytes, skew));
      out.push_back(place(row().max_encoded_size(tensor.desc)));
      chunks.push_back({.desc = tensor.desc,
                        .in = in.back().data(),
                        .out = out.back().data(),
                        .size = reinterpret_cast<std::uint64_t*>(sizes.data()) + i});
    }
    const auto scratch = scratch_for(cuda::encode_scratch_size(StageId::exact, descs));
    cuda::encode_async(stream_, StageId::exact, chunks, scratch.scratch);
    stream_.ref().sync();
    const Bytes got_sizes = fetch(sizes, "sizes");
    std::vector<Bytes> coded;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::uint64_t size;
      std::memcpy(&size, got_sizes.data() + 8 * i, 8);
      Bytes bytes = fetch(out[i], tensors[i].name);
      EXPECT_LE(size, bytes.size()) << tensors[i].name;
      bytes.resize(std::min<std::size_t>(size, bytes.size()));
      coded.push_back(std::move(bytes));
    }
    return coded;
  }

  // Decodes all in one call; the status words go to `status`.
  std::vector<Bytes> decode(const std::vector<Bytes>& coded, const std::vector<TensorDesc>& descs,
                            std::vector<std::uint32_t>& status, std::size_t skew = 0) {
    std::vector<DeviceBytes> in, out;
    status.assign(coded.size(), 0);
    DeviceBytes words = place(4 * coded.size(), std::as_bytes(std::span(status)));
    std::vector<cuda::DecodeChunk> chunks;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      in.push_back(place(coded[i].size(), coded[i]));
      out.push_back(place(descs[i].size(), {}, skew));
      chunks.push_back({.desc = descs[i],
                        .in = in.back().data(),
                        .in_size = coded[i].size(),
                        .out = out.back().data(),
                        .status = reinterpret_cast<std::uint32_t*>(words.data()) + i});
    }
    const auto scratch = scratch_for(cuda::decode_scratch_size(StageId::exact, descs));
    cuda::decode_async(stream_, StageId::exact, chunks, scratch.scratch);
    stream_.ref().sync();
    const Bytes got = fetch(words, "status words");
    std::memcpy(status.data(), got.data(), got.size());
    std::vector<Bytes> values;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      values.push_back(fetch(out[i], describe(descs[i], "decoded")));
    }
    return values;
  }

  void check_round_trip(const std::vector<Tensor>& tensors, std::size_t skew = 0) {
    const std::vector<Bytes> coded = encode(tensors, skew);
    std::vector<TensorDesc> descs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Bytes expected = host_encode(tensors[i]);
      descs.push_back(tensors[i].desc);
      ASSERT_EQ(coded[i].size(), expected.size()) << tensors[i].name;
      const auto differ = std::ranges::mismatch(coded[i], expected);
      ASSERT_EQ(differ.in1, coded[i].end())
          << tensors[i].name << ": byte " << differ.in1 - coded[i].begin() << " of "
          << expected.size();
    }
    std::vector<std::uint32_t> status;
    const std::vector<Bytes> values = decode(coded, descs, status, skew);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(status[i], 0u) << tensors[i].name;
      EXPECT_TRUE(values[i] == tensors[i].bytes) << tensors[i].name;
    }
  }

  static Tensor make(DType dtype, Shape shape, Kind kind, std::uint64_t seed) {
    const TensorDesc desc{dtype, shape};
    return {desc, testing_samples::sample(desc, kind, seed),
            describe(desc, testing_samples::name_of(kind))};
  }

  Workers workers_{2};
  Stream stream_;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {1},           {3},         {63},      {64},       {65},         {4096},      {16384},
      {16385},       {256, 64},   {512, 64}, {300, 64},  {256, 65},    {600, 192},  {1024, 576},
      {3, 1024, 64}, {2, 70, 80}, {7, 3},    {1000, 48}, {5, 300, 16}, {2, 3, 4, 5}};
  return all;
}

class CudaStageKindTest : public CudaStageTest, public testing::WithParamInterface<Kind> {};

TEST_P(CudaStageKindTest, MakesTheHostsBytesForEveryDtypeAndShape) {
  for (const DType dtype : testing_samples::all_dtypes()) {
    std::vector<Tensor> tensors;
    std::uint64_t seed = 1;
    for (const Shape& shape : shapes()) tensors.push_back(make(dtype, shape, GetParam(), seed++));
    check_round_trip(tensors);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaStageKindTest, testing::ValuesIn(testing_samples::all_kinds),
                         [](const testing::TestParamInfo<Kind>& kind) {
                           return std::string(testing_samples::name_of(kind.param));
                         });

TEST_P(CudaStageKindTest, OneTile) {
  check_round_trip({make(DType::bf16, {200, 64}, GetParam(), 1)});
}

TEST_F(CudaStageTest, RealTensorsOneByOneAndTogether) {
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

TEST_F(CudaStageTest, MisalignedValues) {
  std::vector<Tensor> tensors;
  for (const Kind kind : {Kind::channels, Kind::sparse, Kind::mixed}) {
    tensors.push_back(make(DType::bf16, {600, 64}, kind, 5));
    tensors.push_back(make(DType::fp32, {300, 72}, kind, 6));
  }
  for (const std::size_t skew : {2u, 6u, 8u, 1u}) check_round_trip(tensors, skew);
}

TEST_F(CudaStageTest, OddTilesAmongOrdinaryOnes) {
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

TEST_F(CudaStageTest, ManySmallChunksInOneCall) {
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

TEST_F(CudaStageTest, RefusesWhatTheHostRefuses) {
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

TEST_F(CudaStageTest, RunsFromAGraph) {
  const Tensor tensor = make(DType::bf16, {3, 1024, 64}, Kind::mixed, 7);
  const DeviceBytes in = place(tensor.bytes.size(), tensor.bytes);
  const DeviceBytes out = place(row().max_encoded_size(tensor.desc));
  const DeviceBytes size = place(8);
  const std::vector<cuda::EncodeChunk> chunks{
      {tensor.desc, in.data(), out.data(), reinterpret_cast<std::uint64_t*>(size.data())}};
  const auto scratch =
      scratch_for(cuda::encode_scratch_size(StageId::exact, std::array{tensor.desc}));
  cudaGraph_t graph{};
  cudaGraphExec_t exec{};
  const cudaStream_t stream = native(stream_);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cuda::encode_async(stream_, StageId::exact, chunks, scratch.scratch);
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
