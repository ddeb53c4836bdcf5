// SPDX-License-Identifier: Apache-2.0
// A stage on one GPU: values and coded bytes resident on the device, CUDA events, round trip
// checked.
//   BENCH FILE.safetensors [OUT.jsonl [MIB]]
// The values are the file's bf16 tensors one behind the other, repeated to the size asked for; from
// the second time on their low mantissa bits, which do not compress, are stirred, so that no two
// tiles are equal. Small sizes are measured again as a CUDA graph, which leaves the host's part of
// a call out. nvCOMP is measured on the same bytes where its library is found (nvcomp_ans.hpp).
#pragma once

#include "../gpu_values.cuh"
#include "nvcomp_ans.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/cuda/codec.hpp>
#include <offramp/cuda/stream.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/offramp.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace offramp::bench {

inline constexpr std::size_t mib = 1 << 20;
inline constexpr std::size_t most = 1024 * mib;

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(3);
}

struct Times {
  double least{}, median{}, most{};  // GB/s
};

class Bench {
 public:
  Bench(StageId stage, const std::string& path, const char* json)
      : stage_(stage),
        name_(stage == StageId::exact ? "exact_cuda" : "dense_cuda"),
        device_(**find_device("cuda:0")),
        stream_(device_.make_stream()),
        native_(native(stream_)),
        in_(stream_, device_.memory(), most),
        back_(stream_, device_.memory(), most),
        coded_(stream_, device_.memory(), most + most / 8),
        words_(stream_, device_.memory(), 1 << 20) {
    if (json != nullptr) json_.open(json, std::ios::app);
    read(path);
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
  }

  void copy_peak() {
    const Times copy = time(most, 8, [&] {
      check(cudaMemcpyAsync(back_.data(), in_.data(), most, cudaMemcpyDeviceToDevice, native_));
    });
    std::printf("copy on the device, 1 GiB, one way: %.0f GB/s (%.0f to %.0f)\n\n", copy.median,
                copy.least, copy.most);
    std::printf("%9s %9s %7s  %24s  %24s\n", "in all", "a chunk", "ratio", "encode GB/s (min, max)",
                "decode GB/s (min, max)");
  }

  // `size` bytes as chunks of `each`.
  void run(std::size_t size, std::size_t each) {
    const TensorDesc desc{DType::bf16, Shape{each / 128, 64}};
    const std::size_t chunks = size / each;
    fill(size);
    const std::size_t room = (find_stage(stage_)->max_encoded_size(desc) + 127) / 128 * 128;
    if (room * chunks > coded_.size()) return;
    auto* const sizes = reinterpret_cast<std::uint64_t*>(words_.data());
    auto* const status = reinterpret_cast<std::uint32_t*>(words_.data() + words_.size() / 2);
    check(cudaMemsetAsync(status, 0, 4 * chunks, native_));
    std::vector<cuda::EncodeChunk> encode;
    for (std::size_t i = 0; i < chunks; ++i) {
      encode.push_back({desc, in_.data() + i * each, coded_.data() + i * room, sizes + i});
    }
    const std::vector<TensorDesc> descs(chunks, desc);
    const auto size_of_scratch = cuda::encode_scratch_size(stage_, descs);
    Buffer scratch(stream_, device_.memory(), size_of_scratch.device);
    HostSlab slab;
    cuda::Scratch both{{scratch.data(), scratch.size()}, {}};
    if (size_of_scratch.host != 0) {
      slab = HostSlab(device_, {.slots = 1, .slot_size = size_of_scratch.host});
      both.host = slab.slot(0);
    }
    const int rounds = size >= 256 * mib ? 8 : 40;
    // The list of a batch is copied from the host by each call; nothing waits for it, as the slab
    // holds the same bytes each time.
    const Times encoded =
        time(size, rounds, [&] { cuda::encode_async(stream_, stage_, encode, both); });
    const auto encoded_graph =
        graph_time(size, [&] { cuda::encode_async(stream_, stage_, encode, both); });
    std::vector<std::uint64_t> got(chunks);
    fetch(got.data(), sizes, 8 * chunks);
    std::vector<cuda::DecodeChunk> decode;
    std::size_t total = 0;
    for (std::size_t i = 0; i < chunks; ++i) {
      total += got[i];
      decode.push_back(
          {desc, coded_.data() + i * room, got[i], back_.data() + i * each, status + i});
    }
    check(cudaMemsetAsync(back_.data(), 0xa5, size, native_));
    const Times decoded =
        time(size, rounds, [&] { cuda::decode_async(stream_, stage_, decode, both); });
    const auto decoded_graph =
        graph_time(size, [&] { cuda::decode_async(stream_, stage_, decode, both); });
    unsigned long long differ = differences(size);
    std::vector<std::uint32_t> refused(chunks);
    fetch(refused.data(), status, 4 * chunks);
    for (const std::uint32_t word : refused) differ += word != 0;
    const double ratio = static_cast<double>(size) / static_cast<double>(total);
    std::printf("%5zu MiB %5zu KiB %7.4f  %8.0f (%5.0f, %5.0f)  %8.0f (%5.0f, %5.0f)%s\n",
                size / mib, each / 1024, ratio, encoded.median, encoded.least, encoded.most,
                decoded.median, decoded.least, decoded.most, differ == 0 ? "" : "  WRONG");
    const std::string name =
        std::to_string(size / mib) + "MiB/" + std::to_string(each / 1024) + "KiB";
    note(name, "ratio", ratio, "");
    note(name, "encode", encoded.median, "GB/s");
    note(name, "decode", decoded.median, "GB/s");
    if (encoded_graph && decoded_graph) {
      std::printf("%29s  %8.0f (%5.0f, %5.0f)  %8.0f (%5.0f, %5.0f)\n", "the same from a graph",
                  encoded_graph->median, encoded_graph->least, encoded_graph->most,
                  decoded_graph->median, decoded_graph->least, decoded_graph->most);
      note(name, "encode from a graph", encoded_graph->median, "GB/s");
      note(name, "decode from a graph", decoded_graph->median, "GB/s");
    }
    if (differ != 0) std::exit(1);
  }

  // nvCOMP's ANS over the same values, in chunks of `each`, which stay in worst-case slots.
  void run_nvcomp(const NvcompAns& nvcomp, std::size_t size, std::size_t each) {
    const std::size_t chunks = size / each;
    fill(size);
    const std::size_t room = (nvcomp.max_output(each) + 255) / 256 * 256;
    const std::size_t scratch_size = nvcomp.scratch_size(chunks, each, native_);
    Buffer coded(stream_, device_.memory(), room * chunks);
    Buffer scratch(stream_, device_.memory(), std::max<std::size_t>(scratch_size, 1));
    Buffer words(stream_, device_.memory(), chunks * 64);
    auto** const pointers = reinterpret_cast<void**>(words.data());
    auto* const sizes = reinterpret_cast<std::size_t*>(words.data() + 24 * chunks);
    const NvcompAns::Lists lists{pointers,           sizes,
                                 pointers + chunks,  sizes + chunks,
                                 sizes + 2 * chunks, reinterpret_cast<int*>(sizes + 3 * chunks)};
    void** const out = pointers + 2 * chunks;
    std::vector<void*> places;
    for (std::size_t i = 0; i < chunks; ++i) places.push_back(in_.data() + i * each);
    for (std::size_t i = 0; i < chunks; ++i) places.push_back(coded.data() + i * room);
    for (std::size_t i = 0; i < chunks; ++i) places.push_back(back_.data() + i * each);
    const std::vector<std::size_t> value_sizes(chunks, each);
    check(cudaMemcpyAsync(pointers, places.data(), 24 * chunks, cudaMemcpyHostToDevice, native_));
    check(cudaMemcpyAsync(sizes, value_sizes.data(), 8 * chunks, cudaMemcpyHostToDevice, native_));
    const int rounds = size >= 256 * mib ? 8 : 40;
    const Times encoded = time(size, rounds, [&] {
      nvcomp.encode(chunks, each, lists, scratch.data(), scratch_size, native_);
    });
    std::vector<std::size_t> got(chunks);
    fetch(got.data(), lists.coded_sizes, 8 * chunks);
    std::size_t total = 0;
    for (const std::size_t one : got) total += one;
    check(cudaMemsetAsync(back_.data(), 0xa5, size, native_));
    const Times decoded = time(size, rounds, [&] {
      nvcomp.decode(chunks, lists, out, scratch.data(), scratch_size, native_);
    });
    const bool is_right = differences(size) == 0;
    const double ratio = static_cast<double>(size) / static_cast<double>(total);
    std::printf("%5zu MiB %5zu KiB %7.4f  %8.0f (%5.0f, %5.0f)  %8.0f (%5.0f, %5.0f)%s\n",
                size / mib, each / 1024, ratio, encoded.median, encoded.least, encoded.most,
                decoded.median, decoded.least, decoded.most, is_right ? "" : "  WRONG");
    const std::string name =
        "nvCOMP/" + std::to_string(size / mib) + "MiB/" + std::to_string(each / 1024) + "KiB";
    note(name, "ratio", ratio, "");
    note(name, "encode", encoded.median, "GB/s");
    note(name, "decode", decoded.median, "GB/s");
  }

 private:
  void read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    std::uint64_t header = 0;
    if (bytes.size() < 8) {
      std::fprintf(stderr, "%s cannot be read\n", path.c_str());
      std::exit(2);
    }
    std::memcpy(&header, bytes.data(), 8);
    const std::size_t values = (bytes.size() - 8 - header) / 32768 * 32768;
    source_ = Buffer(stream_, device_.memory(), values);
    check(cudaMemcpyAsync(source_.data(), bytes.data() + 8 + header, values, cudaMemcpyHostToDevice,
                          native_));
    check(cudaStreamSynchronize(native_));
  }

  void fetch(void* to, const void* from, std::size_t size) {
    check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, native_));
    check(cudaStreamSynchronize(native_));
  }

  void fill(std::size_t size) {
    repeat<<<1056, 256, 0, native_>>>(reinterpret_cast<std::uint16_t*>(in_.data()), size / 2,
                                      reinterpret_cast<const std::uint16_t*>(source_.data()),
                                      source_.size() / 2);
  }

  unsigned long long differences(std::size_t size) {
    Buffer count(stream_, device_.memory(), 8);
    auto* const wrong = reinterpret_cast<unsigned long long*>(count.data());
    check(cudaMemsetAsync(wrong, 0, 8, native_));
    count_differences<<<1056, 256, 0, native_>>>(reinterpret_cast<const uint4*>(in_.data()),
                                                 reinterpret_cast<const uint4*>(back_.data()),
                                                 size / 16, wrong);
    unsigned long long differ = 0;
    fetch(&differ, wrong, 8);
    return differ;
  }

  // Where the host's part of a call matters.
  std::optional<Times> graph_time(std::size_t size, const std::function<void()>& call) {
    if (size > 32 * mib) return std::nullopt;
    cudaGraph_t graph{};
    cudaGraphExec_t ready{};
    check(cudaStreamBeginCapture(native_, cudaStreamCaptureModeThreadLocal));
    call();
    check(cudaStreamEndCapture(native_, &graph));
    check(cudaGraphInstantiate(&ready, graph, 0));
    const Times times = time(size, 40, [&] { check(cudaGraphLaunch(ready, native_)); });
    check(cudaGraphExecDestroy(ready));
    check(cudaGraphDestroy(graph));
    return times;
  }

  Times time(std::size_t bytes, int rounds, const std::function<void()>& call) {
    for (int i = 0; i < 3; ++i) call();
    std::vector<double> rates;
    for (int k = 0; k < 9; ++k) {
      check(cudaEventRecord(begin_, native_));
      for (int i = 0; i < rounds; ++i) call();
      check(cudaEventRecord(end_, native_));
      check(cudaEventSynchronize(end_));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_));
      rates.push_back(static_cast<double>(bytes) * rounds / ms * 1e-6);
    }
    std::sort(rates.begin(), rates.end());
    return {rates.front(), rates[rates.size() / 2], rates.back()};
  }

  void note(const std::string& name, const char* metric, double value, const char* unit) {
    if (!json_.is_open()) return;
    json_ << "{\"bench\": \"" << name_ << "\", \"case\": \"" << name << "\", \"metric\": \""
          << metric << "\", \"value\": " << value << ", \"unit\": \"" << unit << "\"}\n";
  }

  StageId stage_;
  const char* name_;
  Device& device_;
  Stream stream_;
  cudaStream_t native_;
  Buffer in_, back_, coded_, words_, source_;
  cudaEvent_t begin_{}, end_{};
  std::ofstream json_;
};

/// The whole of a bench program.
/// Beside `exact`: it is the same for both stages.
inline void run_nvcomp(Bench& bench) {
  try {
    const NvcompAns nvcomp;
    std::printf("\nnvCOMP, ANS of float16, chunks left in worst-case slots\n");
    for (const std::size_t size : {4, 32, 256, 1024}) {
      for (const std::size_t each : {64u << 10, 128u << 10, 256u << 10, 512u << 10}) {
        bench.run_nvcomp(nvcomp, size * mib, each);
      }
    }
  } catch (const std::runtime_error& missing) {
    std::printf("\nnvCOMP: skipped: %s\n", missing.what());
  }
}

/// With a number of MiB as third argument, that size alone: for a profiler.
inline int run_stage_bench(StageId stage, int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE.safetensors [OUT.jsonl [MIB]]\n", argv[0]);
    return 2;
  }
  const auto found = find_device("cuda:0");
  if (!found) {
    std::printf("%s: skipped: %s\n", argv[0], found.error().message().c_str());
    return 0;
  }
  Bench bench(stage, argv[1], argc > 2 ? argv[2] : nullptr);
  if (argc > 3) {
    const std::size_t size = std::stoul(argv[3]) * mib;
    bench.run(size, size);
    return 0;
  }
  bench.copy_peak();
  for (const std::size_t size : {4, 32, 256, 1024}) bench.run(size * mib, size * mib);
  for (const std::size_t each : {64u << 10, 1u << 20, 16u << 20}) bench.run(256 * mib, each);
  if (stage == StageId::exact) run_nvcomp(bench);
  return 0;
}

}  // namespace offramp::bench
