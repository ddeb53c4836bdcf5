// SPDX-License-Identifier: Apache-2.0
// Ordinary full tiles of bf16: a warp a tile, a lane two channels and one state. Bodies go to their
// nominal places, heap pieces to the tile's staging. What is not ordinary is marked, for the
// general encoder. Tiles that could not be moved to their places from there are coded again to
// them.
#include "codec/exact_dense/cuda/dense_choice.cuh"
#include "codec/exact_dense/cuda/dense_launch.hpp"
#include "codec/exact_dense/cuda/dense_writer.cuh"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

#include <algorithm>

namespace offramp::exact_dense::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Source;

__device__ constexpr block::EncodeTables encode_tables = block::tables::make_encode_tables();
__device__ constexpr block::CostTable cost_table = block::tables::make_cost_table();

// Shared memory, from its first byte on: next states, symbols, then the warps' histograms, which
// stand at a multiple of their size.
constexpr std::uint32_t states_size = 2 * class_count * state_count;
constexpr std::uint32_t counts_begin = 48 << 10;
static_assert(2048 + states_size + class_count * class_stride <= counts_begin);

constexpr std::uint32_t shared_size(std::uint32_t warps) {
  return counts_begin + (warps + 3) / 4 * counts_group;
}

// Loads the tables to shared memory.
__device__ void load_tables(std::uint32_t states, std::uint32_t symbols) {
  const auto* const from =
      reinterpret_cast<const uint4*>(encode_tables.states + state_count);  // behind the padding
  copy_to_shared(states, from, states_size / 16, [](const uint4& v) {
    constexpr std::uint32_t bit = state_count * 0x10001u;
    return make_uint4(v.x | bit, v.y | bit, v.z | bit, v.w | bit);
  });
  for (std::uint32_t i = threadIdx.x; i < class_count * 64; i += blockDim.x) {
    const std::uint32_t k = i / 64, distance = i / 4 % 16, sign = i / 2 % 2, top_bit = i % 2;
    const std::uint32_t entry = encode_tables.symbols[k][i % 64];
    const std::uint32_t row = (distance - cost_table.distances[k]) & 15;
    const std::uint32_t at = row << 4 | top_bit << 3 | sign << 2;
    // A state's address instead of its number.
    const std::uint32_t address = states + 2 * ((entry & 0xffff) - state_count);
    store_shared(symbols + k * class_stride + (at ^ spread_of(k)),
                 (entry & 0xffff0000u) | (address & 0xffff));
  }
}

// Where a tile's parts go.
struct Target {
  std::byte* body{};
  std::byte* heap{};
  std::uint32_t heap_room{};  // bytes that may be written there
};

// Codes a tile's values; returns the units of its heap piece, or `not_coded` where what was found
// does not show that mode 16 is the one to take.
__device__ __forceinline__ std::uint32_t encode_tile(const std::byte* from, std::uint64_t row_size,
                                                     const Target& target, std::uint32_t symbols,
                                                     std::uint32_t room) {
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (std::uint32_t i = 0; i < 8; ++i) {
    store_shared(room + i / 4 * sign_step + i % 4 * 512 + 16 * lane, uint4{});
  }
  sync_warp();
  LaneChoice lane_choice;
  const TileChoice tile = choose(from + 4 * lane, row_size, room + 4 * lane, lane_choice);
  // Below such a top, distances wrap, and a zero may be no escape.
  if (!tile.varies || tile.least < 15) return tiles::gpu::not_coded;
  sync_warp();

  const std::uint32_t side = write_side(tile, lane_choice, target.heap);
  LaneCoder coder(lane_choice, symbols, target.heap + heap_header_size + side,
                  (target.heap_room - heap_header_size - side) / 4);
  RowFeed feed(from, row_size, room);
  auto* body = reinterpret_cast<std::uint32_t*>(target.body) +
               (full_chunks - 1) * rest_words_a_chunk * 32 + lane;
  feed.stage(full_chunks - 1);
  std::uint32_t above = feed.row_above(full_chunks - 1);
#pragma unroll 1
  for (std::uint32_t g = full_chunks; g-- > 0;) {
    std::uint32_t v[chunk_rows];
    feed.take(g, v);
    std::uint32_t rest[rest_words_a_chunk];
    pack_rest(v, rest);
#pragma unroll
    for (int i = 0; i < 4; ++i) __stcs(body + 32 * i, rest[i]);
    if (g + 1 == full_chunks) {
      coder.begin(rest[4] & 255, rest[5]);
      auto* const split = reinterpret_cast<std::uint8_t*>(body - lane + 32 * 4);
      reinterpret_cast<std::uint16_t*>(split)[lane] = static_cast<std::uint16_t>(rest[4] >> 16);
      split[64 + lane] = static_cast<std::uint8_t>(rest[4] >> 8);
    } else {
      __stcs(body + 32 * 4, rest[4]);
      __stcs(body + 32 * 5, rest[5]);
    }
    body -= 32 * rest_words_a_chunk;
    const std::uint32_t next_above = g > 1 ? feed.row_above(g - 1) : 0;
    coder.make_symbols(v, above);
    if (coder.any_escapes(v)) coder.push_escapes(v, feed.staged(g), above);
    above = next_above;
    coder.push_symbols(v);
  }
  if (15 * __reduce_add_sync(all_lanes, coder.zeros()) > tiles::tile_values) {
    return tiles::gpu::not_coded;
  }
  const std::uint32_t size = coder.finish(target.heap, tile, side, room);
  // Else the exact code is to be tried too.
  if (16 * (full_body_size + size) >= 15 * 2 * tiles::tile_values) return tiles::gpu::not_coded;
  return size / 16;
}

// Coding again is rare: half the warps, so that none has to wait for registers in memory.
template <bool placed>
constexpr std::uint32_t most_warps = placed ? min_warps : max_warps;

// `placed`: to where the directories say.
template <Source source, bool flat, bool placed>
__global__ __launch_bounds__(32 * most_warps<placed>,
                             1) void encode_tiles(const __grid_constant__ Batch batch) {
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const std::uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const std::uint32_t warp = __shfl_sync(all_lanes, threadIdx.x / 32, 0);
  if constexpr (placed) {
    cudaGridDependencySynchronize();
    if (batch.records.counters[tiles::gpu::odd_chunks] == 0) return;
  }
  // Addresses from the start of shared memory on, which `shared` is not.
  const std::uint32_t begin =
      (shared_address(shared) + class_stride - 1) / class_stride * class_stride;
  const std::uint32_t symbols = begin + states_size;
  load_tables(begin, symbols);
  __syncthreads();
  const std::uint32_t room = counts_begin + warp / 4 * counts_group + warp % 4 * warp_step;

  for (std::uint32_t number = warp * gridDim.x + blockIdx.x; number < batch.tiles;
       number += warps * gridDim.x) {
    const std::uint32_t chunk_number = tiles::gpu::chunk_of_tile<source>(batch, number);
    const Chunk& chunk = tiles::gpu::chunk_at<source>(batch, chunk_number);
    const std::uint32_t tile = number - chunk.first_tile;
    const auto place = tiles::gpu::place_of<flat>(chunk, tile);
    const std::byte* const from = chunk.in + place.first_elem * 2;
    const std::uint64_t row_size = flat ? 2 * tiles::tile_width : chunk.pitch * 2;
    const std::uint32_t record = chunk.first_record + tile;
    std::uint16_t& heap_units = batch.records.heap_units[record];
    Target target;
    if constexpr (placed) {
      const bool is_odd = batch.records.is_odd[chunk_number] != 0;
      const bool is_large = batch.records.is_large[chunk_number] != 0;
      if (batch.records.body_units[record] != 0 || !(is_odd || is_large)) continue;
      if (!is_odd && heap_units * 16u <= batch.staging_size) {
        const auto* const header = reinterpret_cast<const uint4*>(chunk.out);
        const std::uint64_t heap_size = tiles::gpu::join(header[1].x, header[1].y);
        if (tiles::gpu::pieces_fit(chunk, heap_size)) continue;  // it has been moved
      }
      const auto at =
          is_odd ? tiles::gpu::odd_place(chunk, tile) : tiles::gpu::nominal_place(chunk, tile);
      target = {chunk.out + at.body, chunk.out + at.heap, heap_units * 16u};
    } else {
      if (lane == 0) {
        if (number == 0) {
          batch.records.counters[tiles::gpu::rest_tiles] = 0;
          batch.records.counters[tiles::gpu::odd_chunks] = 0;
        }
        if (tile == 0) reset_chunk(batch, chunk_number);
        batch.records.body_units[record] = 0;
      }
      if (!flat && (chunk.staging == 0 || !may_be_fast(chunk, place, from))) {
        if (lane == 0) heap_units = tiles::gpu::not_coded;
        continue;
      }
      target = {chunk.out + tiles::gpu::bodies_at(chunk.tiles) + place.body,
                chunk.out + tiles::gpu::staging_of(chunk, dense_staging_size, tile),
                dense_staging_size};
    }
    const std::uint32_t units = encode_tile(from, row_size, target, symbols, room);
    if (!placed && lane == 0) heap_units = static_cast<std::uint16_t>(units);
    sync_warp();
  }
}

using Kernel = void (*)(Batch);

struct Shape {
  std::uint32_t blocks, threads, shared;
};

// Lets the kernel have its shared memory.
cudaError_t prepare(Kernel kernel, const Batch& batch, std::uint32_t most, Shape& shape) {
  const std::uint32_t warps = std::min(warps_for(batch.tiles), most);
  shape = {std::min(multiprocessors, batch.tiles), 32 * warps, shared_size(warps)};
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              shared_size(most));
}

}  // namespace

cudaError_t launch_encode(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_kind(batch, [&]<Source source, bool flat>() {
    const Kernel kernel = encode_tiles<source, flat, false>;
    Shape shape{};
    const cudaError_t status = prepare(kernel, batch, most_warps<false>, shape);
    if (status != cudaSuccess) return status;
    kernel<<<shape.blocks, shape.threads, shape.shared, stream>>>(batch);
    return cudaGetLastError();
  });
}

cudaError_t launch_place(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_source(batch, [&]<Source source>() {
    const Kernel kernel = encode_tiles<source, false, true>;
    Shape shape{};
    const cudaError_t status = prepare(kernel, batch, most_warps<true>, shape);
    if (status != cudaSuccess) return status;
    return tiles::gpu::launch_early(kernel, shape.blocks, shape.threads, shape.shared, batch,
                                    stream);
  });
}

}  // namespace offramp::exact_dense::gpu
