// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace offramp::exact::block {

/// The thread block that runs this, as a `Block`. It has whole warps, in x alone.
class CudaBlock {
 public:
  static constexpr std::uint32_t warp_size = 32;
  static constexpr std::uint32_t max_warps = 32;

  /// What the calls need of shared memory.
  struct Shared {
    std::uint32_t partial[max_warps][max_reduced_size / 4];
  };

  __device__ explicit CudaBlock(Shared& shared) : shared_(shared) {}

  [[nodiscard]] __device__ std::uint32_t size() const { return blockDim.x; }

  template <class F>
  __device__ void for_each(std::uint32_t n, F&& f) {
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
    __syncthreads();
  }

  template <class F>
  __device__ void single(F&& f) {
    if (threadIdx.x == 0) f();
    __syncthreads();
  }

  // The first barrier is for those who still read the partial results of the call before.
  template <class T, class F, class Join>
  __device__ T reduce(std::uint32_t n, T none, F&& f, Join&& join) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= max_reduced_size);
    __syncthreads();
    T mine = none;
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) mine = join(mine, f(i));
    for (std::uint32_t step = warp_size / 2; step > 0; step /= 2) {
      mine = join(mine, of_lane(mine, lane() ^ step));
    }
    if (lane() == 0) std::memcpy(shared_.partial[warp()], &mine, sizeof(T));
    __syncthreads();
    T all = none;
    for (std::uint32_t w = 0; w < warps(); ++w) {
      T part;
      std::memcpy(&part, shared_.partial[w], sizeof(T));
      all = join(all, part);
    }
    return all;
  }

  /// Each thread takes a run of items: one pass to count, one over the threads' sums, one to emit.
  template <class Count, class Emit>
  __device__ std::uint32_t scan(std::uint32_t n, Count&& count, Emit&& emit) {
    __syncthreads();
    const std::uint32_t run = div_up(n, blockDim.x);
    const std::uint32_t begin = lesser(threadIdx.x * run, n);
    const std::uint32_t end = lesser(begin + run, n);
    std::uint32_t mine = 0;
    for (std::uint32_t i = begin; i < end; ++i) mine += count(i);
    std::uint32_t through = mine;  // the warp's threads up to this one
    for (std::uint32_t step = 1; step < warp_size; step *= 2) {
      const std::uint32_t below = __shfl_up_sync(all_lanes, through, step);
      if (lane() >= step) through += below;
    }
    if (lane() == warp_size - 1) shared_.partial[warp()][0] = through;
    __syncthreads();
    std::uint32_t before = through - mine, total = 0;
    for (std::uint32_t w = 0; w < warps(); ++w) {
      const std::uint32_t part = shared_.partial[w][0];
      if (w < warp()) before += part;
      total += part;
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t here = count(i);
      emit(i, before);
      before += here;
    }
    __syncthreads();
    return total;
  }

  __device__ void add(std::uint32_t& at, std::uint32_t x) { atomicAdd(&at, x); }
  __device__ void raise(std::uint32_t& at, std::uint32_t x) { atomicMax(&at, x); }

 private:
  static constexpr std::uint32_t all_lanes = 0xffffffffu;

  [[nodiscard]] static __device__ std::uint32_t lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] static __device__ std::uint32_t warp() { return threadIdx.x / warp_size; }
  [[nodiscard]] static __device__ std::uint32_t warps() { return blockDim.x / warp_size; }

  template <class T>
  [[nodiscard]] static __device__ T of_lane(T value, std::uint32_t from) {
    static_assert(sizeof(T) % 4 == 0);
    std::uint32_t words[sizeof(T) / 4];
    std::memcpy(words, &value, sizeof(T));
    for (std::uint32_t& word : words) word = __shfl_sync(all_lanes, word, from);
    std::memcpy(&value, words, sizeof(T));
    return value;
  }

  Shared& shared_;
};

static_assert(Block<CudaBlock>);

}  // namespace offramp::exact::block
