// SPDX-License-Identifier: Apache-2.0
// The general decoder: checks every chunk's frame, and decodes the tiles that the fast one leaves.
#include "codec/exact/cuda/launch.hpp"
#include "codec/exact/cuda/rest.cuh"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

namespace offramp::exact::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Source;

__global__ __launch_bounds__(256) void decode_rest(const __grid_constant__ Batch batch) {
  __shared__ RestRoom room;
  cudaGridDependencySynchronize();
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t chunk_number, std::uint32_t number, std::uint32_t record) {
        if (batch.records.heap_units[record] != tiles::gpu::not_coded) return false;
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto frame = tiles::gpu::read_frame(chunk, tiered_mode, number == 0);
        if (!frame.is_sound) {
          if (number == 0) tiles::gpu::report_bad_frame(chunk);
          return false;
        }
        const auto coded = tiles::gpu::coded_tile(chunk, frame, number);
        if (!coded.is_sound) {
          tiles::gpu::report_bad_tile(chunk, number);
          return false;
        }
        return true;
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto frame = tiles::gpu::read_frame(chunk, tiered_mode, false);
        const auto coded = tiles::gpu::coded_tile(chunk, frame, number);
        const auto place = tiles::gpu::place_of<false>(chunk, number);
        block::CudaBlock threads(room.block);
        const bool is_sound = block::decode_tile(
            threads, chunk.dtype, {place.rows, place.width, place.values}, coded.mode,
            {chunk.in + coded.body, static_cast<std::size_t>(coded.body_size)},
            {chunk.in + coded.heap, static_cast<std::size_t>(coded.heap_size)},
            chunk.out + place.first_elem * size_of(chunk.dtype), chunk.pitch,
            {own_scratch(batch), &room.tile});
        if (!is_sound && threadIdx.x == 0) tiles::gpu::report_bad_tile(chunk, number);
      });
}

}  // namespace

cudaError_t launch_decode_rest(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::launch_early(decode_rest, batch.rest_blocks, 256, 0, batch, stream);
}

}  // namespace offramp::exact::gpu
