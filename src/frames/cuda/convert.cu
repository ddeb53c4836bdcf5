// SPDX-License-Identifier: Apache-2.0
#include "frames/convert_patch.hpp"
#include "frames/cuda/convert_launch.hpp"

#include <algorithm>
#include <array>

namespace offramp::frames::gpu {
namespace {

constexpr std::uint32_t tile_width = 32;  // patches: a warp reads and writes pieces of rows
constexpr std::uint32_t tile_height = 8;
constexpr std::uint64_t max_blocks = (std::uint64_t{1} << 31) - 1;

struct Tiles {
  PatchLay lay{};
  std::uint32_t across{};
  std::uint32_t down{};
  std::uint64_t count{};  ///< of all frames
};

template <class Source, class Code>
__global__ void __launch_bounds__(tile_width* tile_height)
    convert_tiles(const __grid_constant__ ConvertPlan plan, const __grid_constant__ Tiles tiles) {
  for (std::uint64_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    const std::uint64_t row = tile / tiles.across;
    const auto column = static_cast<std::uint32_t>(tile - row * tiles.across);
    const std::uint64_t frame = row / tiles.down;
    const auto down = static_cast<std::uint32_t>(row - frame * tiles.down);
    const std::uint32_t x = column * tile_width + threadIdx.x;
    const std::uint32_t y = down * tile_height + threadIdx.y;
    if (std::uint64_t{x} * patch_width >= plan.width ||
        std::uint64_t{y} * patch_height >= plan.height) {
      continue;
    }
    Patch<Source, Code>(plan, tiles.lay, frame, x, y).convert();
  }
}

using Kernel = void (*)(ConvertPlan, Tiles);

template <class Source>
constexpr std::array<Kernel, 2> kernels_of() {
  return {convert_tiles<Source, std::uint8_t>, convert_tiles<Source, std::uint16_t>};
}

Kernel kernel_of(DType dtype, std::size_t wide) noexcept {
  switch (dtype) {
    case DType::fp32:
      return kernels_of<PatchFp32>()[wide];
    case DType::fp16:
      return kernels_of<PatchFp16>()[wide];
    case DType::bf16:
      return kernels_of<PatchBf16>()[wide];
    case DType::u16:
      return kernels_of<PatchInteger<std::uint16_t>>()[wide];
    default:
      return kernels_of<PatchInteger<std::uint8_t>>()[wide];
  }
}

std::uint32_t tiles_for(std::uint32_t extent, std::uint32_t tile) noexcept {
  return extent / tile + (extent % tile != 0);
}

}  // namespace

cudaError_t launch_convert(const ConvertPlan& plan, cudaStream_t stream) noexcept {
  Tiles tiles{.lay = patch_lay(plan),
              .across = tiles_for(plan.width, tile_width * patch_width),
              .down = tiles_for(plan.height, tile_height * patch_height),
              .count = 0};
  // Does not overflow: a frame has more bytes than tiles, and those of all frames were counted.
  tiles.count = std::uint64_t{tiles.across} * tiles.down * plan.frames;
  const auto blocks = static_cast<unsigned>(std::min(tiles.count, max_blocks));
  const Kernel kernel = kernel_of(plan.dtype, bits_of(plan.pixels) > 8 ? 1 : 0);
  kernel<<<blocks, dim3(tile_width, tile_height), 0, stream>>>(plan, tiles);
  return cudaGetLastError();
}

cudaError_t load_convert() noexcept {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::u16, DType::u8}) {
    for (const std::size_t wide : {0u, 1u}) {
      cudaFuncAttributes attributes{};
      const cudaError_t code =
          cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel_of(dtype, wide)));
      if (code != cudaSuccess) return code;
    }
  }
  return cudaSuccess;
}

}  // namespace offramp::frames::gpu
