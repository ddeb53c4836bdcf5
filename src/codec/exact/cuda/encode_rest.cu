// SPDX-License-Identifier: Apache-2.0
// The general encoder: any tile, a block each, by the same code that the tests run on the host.
// Tiles are coded twice, first for their sizes and then to their places: no memory for coded tiles
// is needed, and ordinary data has next to none of them.
#include "codec/exact/cuda/launch.hpp"
#include "codec/exact/cuda/rest.cuh"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

#include <algorithm>

namespace offramp::exact::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Source;

template <class Code>
__device__ __forceinline__ void with_tile(const Batch& batch, const Chunk& chunk,
                                          std::uint32_t number, RestRoom& room, std::byte* body,
                                          std::byte* heap, Code&& code) {
  const auto place = tiles::gpu::place_of<false>(chunk, number);
  block::CudaBlock threads(room.block);
  code(place, block::encode_tile(threads, chunk.dtype, {place.rows, place.width, place.values},
                                 chunk.in + place.first_elem * size_of(chunk.dtype), chunk.pitch,
                                 body, heap, {own_scratch(batch), &room.tile}));
}

__global__ __launch_bounds__(256) void measure_rest(const __grid_constant__ Batch batch) {
  __shared__ RestRoom room;
  tiles::gpu::start_next_early();
  cudaGridDependencySynchronize();
  const auto& records = batch.records;
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t, std::uint32_t, std::uint32_t record) {
        return records.heap_units[record] == tiles::gpu::not_coded;
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        // Behind the tile code's scratch: a body and a heap piece, together at most raw each.
        std::byte* const body = own_scratch(batch) + block::block_scratch_size(chunk.dtype);
        std::byte* const heap = body + tiles::tile_values * size_of(chunk.dtype);
        with_tile(
            batch, chunk, number, room, body, heap,
            [&](const tiles::gpu::TilePlace&, const tiles::CodedTile& coded) {
              if (threadIdx.x != 0) return;
              const std::uint32_t record = chunk.first_record + number;
              records.heap_units[record] = static_cast<std::uint16_t>(coded.heap_size / 16);
              records.body_units[record] = static_cast<std::uint16_t>(coded.body_size / 16);
              records.mode[record] = coded.mode;
              atomicAdd(&records.counters[tiles::gpu::rest_tiles], 1u);
              if (coded.mode == tiles::raw_mode) atomicAdd(&records.raw_tiles[chunk_number], 1u);
              if (coded.heap_size > batch.staging_size) records.is_large[chunk_number] = 1;
              // A tiered body has its nominal size.
              if (coded.mode != tiered_mode && atomicExch(&records.is_odd[chunk_number], 1u) == 0) {
                atomicAdd(&records.counters[tiles::gpu::odd_chunks], 1u);
              }
            });
      });
}

__global__ __launch_bounds__(256) void place_rest(const __grid_constant__ Batch batch) {
  __shared__ RestRoom room;
  tiles::gpu::start_next_early();
  cudaGridDependencySynchronize();
  const auto& records = batch.records;
  if (records.counters[tiles::gpu::rest_tiles] == 0) return;
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t chunk_number, std::uint32_t, std::uint32_t record) {
        if (records.body_units[record] != 0) return true;
        // Ordinary tiles too where nothing could be moved: heap pieces in order reach the staging.
        if (records.is_odd[chunk_number] != 0 || records.is_large[chunk_number] == 0) return false;
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto* const header = reinterpret_cast<const uint4*>(chunk.out);
        return !tiles::gpu::pieces_fit(chunk, tiles::gpu::join(header[1].x, header[1].y));
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const bool is_odd = records.is_odd[chunk_number] != 0;
        const auto at = is_odd ? tiles::gpu::odd_place(chunk, number)
                               : tiles::gpu::nominal_place(chunk, number);
        with_tile(batch, chunk, number, room, chunk.out + at.body, chunk.out + at.heap,
                  [](const tiles::gpu::TilePlace&, const tiles::CodedTile&) {});
      });
}

// No tile is ordinary: as if a fast encoder had given them all up.
__global__ void mark_all(const __grid_constant__ Batch batch) {
  tiles::gpu::start_next_early();
  const auto& records = batch.records;
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = first; i < batch.record_count; i += step) {
    records.heap_units[i] = tiles::gpu::not_coded;
    records.body_units[i] = 0;
  }
  for (std::uint32_t i = first; i < batch.chunks; i += step) {
    records.is_odd[i] = 0;
    records.raw_tiles[i] = 0;
    records.is_large[i] = 0;
  }
  if (first < 2) records.counters[first] = 0;
}

}  // namespace

std::size_t block_scratch_of(DType dtype) noexcept {
  return block::block_scratch_size(dtype) + 2 * tiles::tile_values * size_of(dtype);
}

cudaError_t launch_mark_all(const Batch& batch, cudaStream_t stream) {
  mark_all<<<std::min(batch.record_count / 256 + 1, 132u), 256, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t launch_measure(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::launch_early(measure_rest, batch.rest_blocks, 256, 0, batch, stream);
}

cudaError_t launch_place_rest(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::launch_early(place_rest, batch.rest_blocks, 256, 0, batch, stream);
}

}  // namespace offramp::exact::gpu
