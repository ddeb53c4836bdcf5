// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/host_copy.hpp"

#include <algorithm>
#include <cstdint>

namespace offramp {
namespace {

constexpr unsigned threads = 256;
constexpr std::size_t max_blocks = 16;  // fills PCIe, which is all there is to fill

template <class Word>
__global__ void __launch_bounds__(threads)
    copy_words(Word* to, const Word* from, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += step)
    to[at] = from[at];
}

template <class Word>
cudaError_t launch(cudaStream_t stream, void* to, const void* from, std::size_t count) {
  const auto blocks = static_cast<unsigned>(std::min(max_blocks, (count + threads - 1) / threads));
  copy_words<<<blocks, threads, 0, stream>>>(static_cast<Word*>(to), static_cast<const Word*>(from),
                                             count);
  return cudaPeekAtLastError();
}

}  // namespace

void load_host_copy() noexcept {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, copy_words<uint4>) != cudaSuccess ||
      cudaFuncGetAttributes(&attributes, copy_words<unsigned char>) != cudaSuccess) {
    (void)cudaGetLastError();  // the launch says it, where it is wanted
  }
}

cudaError_t copy_host_async(cudaStream_t stream, const HostCopy& copy) noexcept {
  const auto places = reinterpret_cast<std::uintptr_t>(copy.to) |
                      reinterpret_cast<std::uintptr_t>(copy.from) | copy.size;
  if (places % sizeof(uint4) == 0)
    return launch<uint4>(stream, copy.to, copy.from, copy.size / sizeof(uint4));
  return launch<unsigned char>(stream, copy.to, copy.from, copy.size);
}

}  // namespace offramp
