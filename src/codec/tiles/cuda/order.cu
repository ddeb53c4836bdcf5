// SPDX-License-Identifier: Apache-2.0
// Puts a chunk together: the header, the directories, and every heap piece from its staging to its
// place. Each block orders a run of tiles and sums up for itself what comes before them: two bytes
// a tile from the cache cost less than blocks that wait for each other.
#include "codec/tiles/cuda/find_tile.cuh"
#include "codec/tiles/cuda/launch_early.cuh"
#include "codec/tiles/cuda/order.hpp"

#include <algorithm>

namespace offramp::tiles::gpu {
namespace {

constexpr std::uint32_t max_threads = 512;

// Warps share the pieces by segments: a large piece is no work for one.
constexpr std::uint32_t segment_units = 256;
__host__ __device__ std::uint32_t segments_of(const Batch& batch) {
  return (batch.staging_size / 16 + segment_units - 1) / segment_units;
}

__device__ __forceinline__ std::uint32_t inclusive_scan(std::uint32_t x) {
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(~0u, x, step);
    if (lane >= step) x += below;
  }
  return x;
}

__device__ __forceinline__ std::uint32_t sum_of_halves(uint4 v) {
  const auto sum = [](std::uint32_t word) { return (word & 0xffff) + (word >> 16); };
  return sum(v.x) + sum(v.y) + sum(v.z) + sum(v.w);
}

// Sum over the block; all threads get it. `room` holds a word for each warp.
__device__ __forceinline__ std::uint32_t block_sum(std::uint32_t x, std::uint32_t* room) {
  const std::uint32_t warp = threadIdx.x / 32;
  x = __reduce_add_sync(~0u, x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[warp] = x;
  __syncthreads();
  std::uint32_t sum = 0;
  for (std::uint32_t w = 0; w < blockDim.x / 32; ++w) sum += room[w];
  return sum;
}

// Inclusive scan over the block.
__device__ __forceinline__ std::uint32_t block_scan(std::uint32_t x, std::uint32_t* room) {
  const std::uint32_t warp = threadIdx.x / 32;
  x = inclusive_scan(x);
  __syncthreads();
  if (threadIdx.x % 32 == 31) room[warp] = x;
  __syncthreads();
  for (std::uint32_t w = 0; w < warp; ++w) x += room[w];
  return x;
}

template <Source source>
__global__ __launch_bounds__(max_threads) void order_tiles(const __grid_constant__ Batch batch) {
  __shared__ std::uint32_t room[max_threads / 32];
  __shared__ std::uint32_t begin[max_threads];
  __shared__ std::uint16_t units_of[max_threads];
  const std::uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32;
  const std::uint32_t chunk_number = chunk_of_work<source>(batch, blockIdx.x);
  const Chunk& chunk = chunk_at<source>(batch, chunk_number);
  const std::uint32_t first = (blockIdx.x - chunk.first_work) * batch.work_tiles;
  const std::uint32_t count = min(batch.work_tiles, chunk.tiles - first);
  const bool is_last = first + count == chunk.tiles;
  std::byte* const out = chunk.out;
  const std::uint64_t bodies = bodies_at(chunk.tiles);
  start_next_early();
  cudaGridDependencySynchronize();

  const std::uint16_t* const heap_units = batch.records.heap_units + chunk.first_record;
  const std::uint16_t* const body_units = batch.records.body_units + chunk.first_record;
  const bool is_odd = batch.records.is_odd[chunk_number] != 0;
  const bool is_large = batch.records.is_large[chunk_number] != 0;
  TileMode uniform_mode = is_odd ? no_mode : batch.nominal_mode;
  if (is_odd && batch.records.raw_tiles[chunk_number] == chunk.tiles) uniform_mode = raw_mode;
  if (is_odd && batch.other_mode != no_mode &&
      batch.records.other_tiles[chunk_number] == chunk.tiles) {
    uniform_mode = batch.other_mode;
  }
  const bool is_uniform = uniform_mode != no_mode;
  std::uint32_t before = 0;
  for (std::uint32_t i = t; i < first / 8; i += blockDim.x) {
    before += sum_of_halves(reinterpret_cast<const uint4*>(heap_units)[i]);
  }
  before = block_sum(before, room);
  const std::uint32_t own = t < count ? heap_units[first + t] : 0;
  const std::uint32_t end = before + block_scan(own, room);
  if (t < count) {
    units_of[t] = body_units[first + t] == 0 ? static_cast<std::uint16_t>(own) : 0;
    begin[t] = end - own;
    reinterpret_cast<std::uint32_t*>(out + header_size)[first + t] = end;
  }
  __syncthreads();

  std::uint64_t bodies_size = chunk.bodies_size;
  std::uint64_t directories = 0;
  std::uint32_t heap_total = 0;
  if (is_odd || is_large) {
    std::uint32_t after = 0;
    for (std::uint32_t i = first + count + t; i < chunk.tiles; i += blockDim.x) {
      after += heap_units[i];
    }
    heap_total = block_sum(own, room) + before + block_sum(after, room);
  }
  if (is_odd) {
    // Bodies without gaps, their ends and modes behind the heap.
    const auto body_of = [&](std::uint32_t tile) -> std::uint32_t {
      if (body_units[tile] != 0) return body_units[tile];
      const std::uint32_t column = tile % chunk.columns, band = tile / chunk.columns % chunk.bands;
      return chunk.body_size[band + 1 == chunk.bands][column + 1 == chunk.columns] / 16;
    };
    std::uint32_t bodies_before = 0, bodies_after = 0;
    for (std::uint32_t i = t; i < first; i += blockDim.x) bodies_before += body_of(i);
    for (std::uint32_t i = first + count + t; i < chunk.tiles; i += blockDim.x) {
      bodies_after += body_of(i);
    }
    const std::uint32_t own_body = t < count ? body_of(first + t) : 0;
    const std::uint32_t own_sum = block_sum(own_body, room);
    bodies_before = block_sum(bodies_before, room);
    bodies_after = block_sum(bodies_after, room);
    bodies_size = std::uint64_t{16} * (bodies_before + own_sum + bodies_after);
    const std::uint32_t body_end = bodies_before + block_scan(own_body, room);
    if (!is_uniform) {
      std::byte* const ends = out + bodies + bodies_size + std::uint64_t{16} * heap_total;
      const std::uint64_t ends_size = (std::uint64_t{chunk.tiles} * 4 + 15) / 16 * 16;
      std::byte* const modes = ends + ends_size;
      if (t < count) {
        reinterpret_cast<std::uint32_t*>(ends)[first + t] = body_end;
        const bool is_nominal = body_units[first + t] == 0;
        modes[first + t] = static_cast<std::byte>(
            is_nominal ? batch.nominal_mode : batch.records.mode[chunk.first_record + first + t]);
      }
      const std::uint32_t modes_size = (chunk.tiles + 15) / 16 * 16;
      if (is_last) {
        if (t < ends_size / 4 - chunk.tiles) {
          reinterpret_cast<std::uint32_t*>(ends)[chunk.tiles + t] = 0;
        }
        if (t < modes_size - chunk.tiles) modes[chunk.tiles + t] = std::byte{0};
      }
      directories = ends_size + modes_size;
    }
  }

  if (is_last) {
    const std::uint64_t padding = bodies - header_size - std::uint64_t{chunk.tiles} * 4;
    if (t < padding / 4) {
      reinterpret_cast<std::uint32_t*>(out + header_size)[chunk.tiles + t] = 0;
    }
    if (t == count - 1) {
      auto* const header = reinterpret_cast<uint4*>(out);
      const std::uint64_t heap_size = std::uint64_t{16} * end;
      header[0] = make_uint4(chunk.tiles, is_uniform ? uniform_flag : 0,
                             static_cast<std::uint32_t>(bodies_size),
                             static_cast<std::uint32_t>(bodies_size >> 32));
      header[1] =
          make_uint4(static_cast<std::uint32_t>(heap_size),
                     static_cast<std::uint32_t>(heap_size >> 32), is_uniform ? uniform_mode : 0, 0);
      *chunk.coded_size = bodies + bodies_size + heap_size + directories;
    }
  }

  // Then bodies and heap pieces are placed later.
  if (is_odd || (is_large && !pieces_fit(chunk, std::uint64_t{heap_total} * 16))) return;
  auto* const heap = reinterpret_cast<uint4*>(out + bodies + bodies_size);
  const std::uint32_t segments = segments_of(batch);
  for (std::uint32_t q = warp; q < count * segments; q += blockDim.x / 32) {
    const std::uint32_t k = q / segments;
    const std::uint32_t units = units_of[k];
    if (units * 16 > batch.staging_size) continue;  // it was not staged
    const auto* const from =
        reinterpret_cast<const uint4*>(out + staging_of(chunk, batch.staging_size, first + k));
    uint4* const to = heap + begin[k];
    const std::uint32_t begin_unit = q % segments * segment_units;
    const std::uint32_t end_unit = min(units, begin_unit + segment_units);
    for (std::uint32_t j = begin_unit + lane; j < end_unit; j += 128) {
      uint4 v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (j + 32 * i < end_unit) v[i] = __ldcs(from + j + 32 * i);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (j + 32 * i < end_unit) __stcs(to + j + 32 * i, v[i]);
      }
    }
  }
}

}  // namespace

cudaError_t launch_order(const Batch& batch, cudaStream_t stream) {
  return with_source(batch, [&]<Source source>() {
    // A warp for every two segments, and a thread for each tile: copying is waiting for memory.
    const std::uint32_t segments =
        (batch.tiles + batch.works - 1) / batch.works * segments_of(batch);
    const std::uint32_t threads = std::max((batch.work_tiles + 31) / 32 * 32,
                                           std::clamp(segments / 2 * 32, 64u, max_threads));
    return launch_early(order_tiles<source>, batch.works, threads, 0, batch, stream);
  });
}

}  // namespace offramp::tiles::gpu
