// SPDX-License-Identifier: Apache-2.0
// The general coders: any tile, a block each, by the same code that the tests run on the host.
// Tiles are coded twice, first for their sizes and then to their places: no memory for coded tiles
// is needed, and ordinary data has next to none of them. One kernel each, whatever the batch: they
// take long to compile and are rarely run.
#include "codec/exact/block/cuda_block.cuh"
#include "codec/exact_dense/block/dense_block_tile.hpp"
#include "codec/exact_dense/cuda/dense_fast_tile.cuh"
#include "codec/exact_dense/cuda/dense_launch.hpp"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

#include <algorithm>

namespace offramp::exact_dense::gpu {
namespace {

using exact::block::CudaBlock;
using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Source;

__device__ constexpr block::DecodeTable decode_table = block::tables::make_decode_table();
__device__ constexpr block::EncodeTables encode_tables = block::tables::make_encode_tables();
__device__ constexpr block::CostTable cost_table = block::tables::make_cost_table();

struct Room {
  CudaBlock::Shared block;
  exact::block::BlockShared exact;
  block::DenseShared dense;
};
static_assert(sizeof(Room) <= 40 << 10, "more than a block gets unasked");

__device__ std::byte* own_scratch(const Batch& batch) {
  return batch.block_scratch + std::uint64_t{blockIdx.x} * batch.block_scratch_size;
}

__device__ block::DenseScratch scratch_of(const Batch& batch, Room& room) {
  return {
      own_scratch(batch), &room.dense, &room.exact, {&decode_table, &encode_tables, &cost_table}};
}

__device__ __noinline__ tiles::CodedTile encode(const Batch& batch, const Chunk& chunk,
                                                std::uint32_t number, Room& room, std::byte* body,
                                                std::byte* heap) {
  const auto place = tiles::gpu::place_of<false>(chunk, number);
  CudaBlock threads(room.block);
  return block::encode_tile(threads, chunk.dtype, {place.rows, place.width, place.values},
                            chunk.in + place.first_elem * size_of(chunk.dtype), chunk.pitch, body,
                            heap, scratch_of(batch, room));
}

// Writes down what became of a tile that no place is known for yet.
__device__ void note(const Batch& batch, const Chunk& chunk, std::uint32_t chunk_number,
                     std::uint32_t number, const tiles::CodedTile& coded) {
  const auto& records = batch.records;
  const std::uint32_t record = chunk.first_record + number;
  records.heap_units[record] = static_cast<std::uint16_t>(coded.heap_size / 16);
  records.body_units[record] = static_cast<std::uint16_t>(coded.body_size / 16);
  records.mode[record] = coded.mode;
  atomicAdd(&records.counters[tiles::gpu::rest_tiles], 1u);
  if (coded.mode == tiles::raw_mode) atomicAdd(&records.raw_tiles[chunk_number], 1u);
  if (coded.mode == batch.other_mode) atomicAdd(&records.other_tiles[chunk_number], 1u);
  // A plain body has its nominal size.
  if (coded.mode != plain_mode && atomicExch(&records.is_odd[chunk_number], 1u) == 0) {
    atomicAdd(&records.counters[tiles::gpu::odd_chunks], 1u);
  }
}

// Of a chunk with a heap piece that the staging does not hold.
__device__ void note_large(const Batch& batch, std::uint32_t chunk_number) {
  if (atomicExch(&batch.records.is_large[chunk_number], 1u) == 0) {
    atomicAdd(&batch.records.counters[tiles::gpu::odd_chunks], 1u);
  }
}

__global__ __launch_bounds__(256) void measure_rest(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  cudaGridDependencySynchronize();
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t chunk_number, std::uint32_t, std::uint32_t record) {
        const std::uint32_t units = batch.records.heap_units[record];
        if (units == tiles::gpu::not_coded) return true;
        if (units * 16 > batch.staging_size) note_large(batch, chunk_number);
        return false;
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        // Behind the tile code's scratch: a body and a heap piece, together at most raw each.
        std::byte* const body = own_scratch(batch) + block::dense_scratch_size(chunk.dtype);
        const tiles::CodedTile coded = encode(batch, chunk, number, room, body,
                                              body + tiles::tile_values * size_of(chunk.dtype));
        if (threadIdx.x != 0) return;
        note(batch, chunk, chunk_number, number, coded);
        const bool is_full =
            tiles::gpu::place_of<false>(chunk, number).values == tiles::tile_values;
        if (is_full && coded.heap_size > batch.staging_size) note_large(batch, chunk_number);
      });
}

__global__ __launch_bounds__(256) void place_rest(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  cudaGridDependencySynchronize();
  const auto& records = batch.records;
  if (records.counters[tiles::gpu::rest_tiles] == 0) return;
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t, std::uint32_t, std::uint32_t record) {
        return records.body_units[record] != 0;
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto at = records.is_odd[chunk_number] != 0
                            ? tiles::gpu::odd_place(chunk, number)
                            : tiles::gpu::nominal_place(chunk, number);
        encode(batch, chunk, number, room, chunk.out + at.body, chunk.out + at.heap);
      });
}

// No tile is ordinary: as if a fast encoder had given them all up.
__global__ void mark_all(const __grid_constant__ Batch batch) {
  const auto& records = batch.records;
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = first; i < batch.record_count; i += step) {
    records.heap_units[i] = tiles::gpu::not_coded;
    records.body_units[i] = 0;
  }
  for (std::uint32_t i = first; i < batch.chunks; i += step) reset_chunk(batch, i);
  if (first < 2) records.counters[first] = 0;
}

__global__ __launch_bounds__(256) void decode_rest(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  cudaGridDependencySynchronize();
  const auto frame_of = [&](const Chunk& chunk, bool padding_too) {
    return tiles::gpu::read_frame(chunk, batch.nominal_mode, padding_too, batch.other_mode);
  };
  tiles::gpu::for_tiles<Source::any>(
      batch,
      [&](std::uint32_t chunk_number, std::uint32_t number, std::uint32_t record) {
        if (batch.records.heap_units[record] != tiles::gpu::not_coded) return false;
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto frame = frame_of(chunk, number == 0);
        if (!frame.is_sound) {
          if (number == 0) tiles::gpu::report_bad_frame(chunk);
          return false;
        }
        if (tiles::gpu::coded_tile(chunk, frame, number).is_sound) return true;
        tiles::gpu::report_bad_tile(chunk, number);
        return false;
      },
      [&](std::uint32_t chunk_number, std::uint32_t number) {
        const Chunk& chunk = tiles::gpu::chunk_at<Source::any>(batch, chunk_number);
        const auto coded = tiles::gpu::coded_tile(chunk, frame_of(chunk, false), number);
        const auto place = tiles::gpu::place_of<false>(chunk, number);
        CudaBlock threads(room.block);
        const bool is_sound = block::decode_tile(
            threads, chunk.dtype, {place.rows, place.width, place.values}, coded.mode,
            {chunk.in + coded.body, static_cast<std::size_t>(coded.body_size)},
            {chunk.in + coded.heap, static_cast<std::size_t>(coded.heap_size)},
            chunk.out + place.first_elem * size_of(chunk.dtype), chunk.pitch,
            scratch_of(batch, room));
        if (!is_sound && threadIdx.x == 0) tiles::gpu::report_bad_tile(chunk, number);
      });
}

}  // namespace

std::size_t block_scratch_of(DType dtype) noexcept {
  return block::dense_scratch_size(dtype) + 2 * tiles::tile_values * size_of(dtype);
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

cudaError_t launch_decode_rest(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::launch_early(decode_rest, batch.rest_blocks, 256, 0, batch, stream);
}

}  // namespace offramp::exact_dense::gpu
