// SPDX-License-Identifier: Apache-2.0
// What runs on the GPU beside the link: matrix products of cuBLAS, found at run time, or a kernel
// that reads memory as fast as it goes, as decoding one token does.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace link_bench {

constexpr std::size_t mib = 1 << 20;

inline void check(cudaError_t status, const char* what = "CUDA") {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "link_bench: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(3);
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// y = W x for W of 16384 x 8192 bf16: a warp a row, everything read once.
__global__ __launch_bounds__(256) void read_all(const uint4* __restrict__ w,
                                                const uint4* __restrict__ x, float* y) {
  __shared__ uint4 vector[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) vector[i] = x[i];
  __syncthreads();
  const int lane = threadIdx.x % 32;
  const std::size_t row = blockIdx.x * 8 + threadIdx.x / 32;
  const uint4* const from = w + row * 1024 + lane;
  float sum = 0;
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    sum = fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), sum);
    sum = fmaf(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u), sum);
  };
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    uint4 v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = __ldcs(from + (half * 8 + i) * 32);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint4 q = vector[(half * 8 + i) * 32 + lane];
      add(v[i].x, q.x);
      add(v[i].y, q.y);
      add(v[i].z, q.z);
      add(v[i].w, q.w);
    }
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) y[row] = sum;
}

/// bf16 values around 1: on zeros the GPU draws less power and runs faster.
__global__ void fill_random(std::uint16_t* to, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{blockDim.x}) {
    std::uint64_t x = (i + seed) * 0x9e3779b97f4a7c15ull;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    to[i] = static_cast<std::uint16_t>(0x3f00 | (x & 0x80ff));
  }
}

/// cuBLAS, loaded from `path`, or from wherever the loader finds it.
class Blas {
 public:
  bool load(const std::string& path) {
    void* const library = dlopen(path.empty() ? "libcublas.so.13" : path.c_str(), RTLD_NOW);
    if (library == nullptr) return false;
    create_ = reinterpret_cast<decltype(create_)>(dlsym(library, "cublasCreate_v2"));
    set_stream_ = reinterpret_cast<decltype(set_stream_)>(dlsym(library, "cublasSetStream_v2"));
    gemm_ = reinterpret_cast<decltype(gemm_)>(dlsym(library, "cublasGemmEx"));
    return create_ && set_stream_ && gemm_ && create_(&handle_) == 0;
  }
  void use(cudaStream_t stream) { set_stream_(handle_, stream); }
  /// c[m, n] = a[m, k] b[k, n], bf16, column-major.
  void multiply(int m, int n, int k, const void* a, const void* b, void* c) {
    constexpr int bf16 = 14, in_fp32 = 68, plain = 0, default_algorithm = -1;
    const float one = 1, zero = 0;
    if (gemm_(handle_, plain, plain, m, n, k, &one, a, bf16, m, b, bf16, k, &zero, c, bf16, m,
              in_fp32, default_algorithm) != 0) {
      std::fprintf(stderr, "link_bench: cublasGemmEx failed\n");
      std::exit(3);
    }
  }

 private:
  int (*create_)(void**){};
  int (*set_stream_)(void*, cudaStream_t){};
  int (*gemm_)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
               int, const void*, void*, int, int, int, int){};
  void* handle_{};
};

enum class Kind { square, narrow, memory };

/// Runs one kind of work without end, and knows how fast it ran between two times.
class Model {
 public:
  Model(Kind kind, Blas& blas) : kind_(kind), blas_(blas) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const std::size_t each = 128 * mib;  // 8192 x 8192
    const std::size_t size = kind == Kind::memory ? 2048 * mib : 3 * each;
    check(cudaMalloc(&data_, size));
    check(cudaMalloc(&small_, mib));
    fill_random<<<1056, 256, 0, stream_>>>(reinterpret_cast<std::uint16_t*>(data_), size / 2, 1);
    fill_random<<<64, 256, 0, stream_>>>(reinterpret_cast<std::uint16_t*>(small_), mib / 2, 2);
    for (auto& event : events_) check(cudaEventCreate(&event));
    check(cudaStreamSynchronize(stream_));
    thread_ = std::thread([this] { run(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(600));  // warm, at its lasting clocks
  }
  ~Model() {
    stop_ = true;
    thread_.join();
    for (auto& event : events_) cudaEventDestroy(event);
    cudaFree(data_);
    cudaFree(small_);
    cudaStreamDestroy(stream_);
  }

  static const char* unit(Kind kind) { return kind == Kind::memory ? "TB/s" : "TFLOP/s"; }

  /// Tera-units a second between two values of `now`.
  double rate(double from, double to) const {
    const std::size_t done = finished_;
    std::size_t first = done, last = done;
    for (std::size_t i = done > ring ? done - ring : 0; i < done; ++i) {
      if (first == done && at_[i % ring] >= from) first = i;
      if (at_[i % ring] <= to) last = i;
    }
    if (first >= done || last >= done || last < first + 3) return 0;
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events_[first % ring], events_[last % ring]));
    const double work = kind_ == Kind::memory ? 32 * 256.0 * mib : 4.0 * 8192 * 8192 * 8192;
    return work * static_cast<double>(last - first) / ms * 1e-9;
  }

 private:
  static constexpr std::size_t ring = 4096;

  void enqueue() {
    std::byte* const a = data_;
    const std::size_t each = 128 * mib;
    switch (kind_) {
      case Kind::square:
        for (int i = 0; i < 2; ++i) blas_.multiply(8192, 8192, 8192, a, a + each, a + 2 * each);
        break;
      case Kind::narrow:
        for (int i = 0; i < 8; ++i) {
          const std::size_t part = static_cast<std::size_t>(i % 4) * 32 * mib;
          blas_.multiply(8192, 2048, 8192, a, a + each + part, a + 2 * each + part);
        }
        break;
      case Kind::memory:
        for (int i = 0; i < 32; ++i) {
          read_all<<<2048, 256, 0, stream_>>>(
              reinterpret_cast<const uint4*>(a + static_cast<std::size_t>(i % 8) * 256 * mib),
              reinterpret_cast<const uint4*>(small_), reinterpret_cast<float*>(small_ + mib / 2));
        }
        break;
    }
  }

  void run() {
    if (kind_ != Kind::memory) blas_.use(stream_);
    for (std::size_t k = 0; !stop_; ++k) {
      enqueue();
      check(cudaEventRecord(events_[k % ring], stream_));
      if (k < 3) continue;
      check(cudaEventSynchronize(events_[(k - 3) % ring]));
      at_[(k - 3) % ring] = now();
      finished_ = k - 2;
    }
    check(cudaStreamSynchronize(stream_));
  }

  Kind kind_;
  Blas& blas_;
  cudaStream_t stream_{};
  std::byte* data_{};
  std::byte* small_{};
  std::vector<cudaEvent_t> events_ = std::vector<cudaEvent_t>(ring);
  std::vector<double> at_ = std::vector<double>(ring);
  std::atomic<std::size_t> finished_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace link_bench
