// SPDX-License-Identifier: Apache-2.0
// Ordinary full tiles of bf16: a warp a tile, a lane two channels and one state. What is not
// ordinary, or not sound in a way that needs a closer look, is left to the general decoder.
#include "codec/exact_dense/cuda/dense_launch.hpp"
#include "codec/exact_dense/cuda/dense_reader.cuh"
#include "codec/tiles/cuda/coded_chunk.cuh"

#include <algorithm>

namespace offramp::exact_dense::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;
using tiles::gpu::Source;

__device__ constexpr block::DecodeTable decode_table = block::tables::make_decode_table();

// Shared memory, from its first byte on: the warps' rings, which stand at multiples of their size,
// then their patches and the table.
constexpr std::uint32_t rings_begin = ring_size;

constexpr std::uint32_t shared_size(std::uint32_t warps) {
  return rings_begin + warps * (ring_size + patch_size) + sizeof(block::DecodeTable);
}

enum class Outcome { done, left, bad };

// A warp's shared memory.
struct Room {
  std::uint32_t table, ring, patches;
};

// Decodes a tile whose heap piece has `units`.
__device__ __forceinline__ Outcome decode_tile(const std::byte* body, const std::byte* heap,
                                               std::uint32_t units, std::byte* to,
                                               std::uint64_t row_size, const Room& room) {
  const std::uint32_t lane = threadIdx.x % 32;
  const PieceHead piece = read_head(heap, units);
  if (!piece.is_sound) return Outcome::left;
  LaneReader reader(piece, heap, room.table, room.ring, room.patches);
  auto* from = reinterpret_cast<const std::uint32_t*>(body) + lane;
  std::byte* row = to + 4 * lane;
  std::uint32_t rest[rest_words_a_chunk];
#pragma unroll
  for (int i = 0; i < 6; ++i) rest[i] = __ldcs(from + 32 * i);
  std::uint32_t above = 0;
#pragma unroll 1
  for (std::uint32_t g = 0; g < full_chunks; ++g) {
    std::uint32_t words[chunk_rows];
    reader.take_words(piece.bases, words);
    if (g + 1 == full_chunks) {
      rest[4] |= reader.hidden_state();
      rest[5] = reader.hidden_buffer();
    }
    std::uint32_t low[8];
    unpack_rest(rest, low);
    from += 32 * rest_words_a_chunk;
    if (g + 2 < full_chunks) {
#pragma unroll
      for (int i = 0; i < 6; ++i) rest[i] = __ldcs(from + 32 * i);
    } else if (g + 2 == full_chunks) {
#pragma unroll
      for (int i = 0; i < 4; ++i) rest[i] = __ldcs(from + 32 * i);
      const auto* const split = reinterpret_cast<const std::uint8_t*>(from - lane + 32 * 4);
      rest[4] = std::uint32_t{reinterpret_cast<const std::uint16_t*>(split)[lane]} << 16 |
                std::uint32_t{split[64 + lane]} << 8;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t core = __byte_perm(low[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
      above = words[i] + core ^ above & piece.changes;
      __stcs(reinterpret_cast<std::uint32_t*>(row + i * row_size), above);
    }
    row += 16 * row_size;
  }
  return __all_sync(all_lanes, reader.is_at_end()) ? Outcome::done : Outcome::bad;
}

// What is checked once a chunk that has sound nominal sizes: its last end, and the padding of ends.
__device__ void check_ends(const Chunk& chunk, const std::uint32_t* ends, std::uint64_t heap_size) {
  const std::uint32_t lane = threadIdx.x % 32;
  bool is_bad = std::uint64_t{ends[chunk.tiles - 1]} * 16 != heap_size;
  const std::uint64_t bodies = tiles::gpu::bodies_at(chunk.tiles);
  for (std::uint64_t i = chunk.tiles + lane; i < (bodies - tiles::header_size) / 4; i += 32) {
    is_bad = is_bad || ends[i] != 0;
  }
  if (is_bad) tiles::gpu::report_bad_frame(chunk);
}

// Tile `tile` of a chunk; false where it is left to the general decoder.
template <bool flat>
__device__ __forceinline__ bool take_tile(const Chunk& chunk, std::uint32_t tile,
                                          const Room& room) {
  const auto place = tiles::gpu::place_of<flat>(chunk, tile);
  std::byte* const to = chunk.out + place.first_elem * 2;
  if (chunk.dtype != DType::bf16) return false;
  // A chunk too short for its header, ends or bodies is reported by the general decoder.
  const std::uint64_t bodies = tiles::gpu::bodies_at(chunk.tiles);
  if (chunk.in_size < bodies + chunk.bodies_size) return false;
  const uint4 header0 = *reinterpret_cast<const uint4*>(chunk.in);
  const uint4 header1 = *reinterpret_cast<const uint4*>(chunk.in + 16);
  if (!tiles::gpu::is_nominal(chunk, header0, header1, plain_mode)) return false;
  const auto* const ends = reinterpret_cast<const std::uint32_t*>(chunk.in + tiles::header_size);
  const std::uint64_t heap_size = tiles::gpu::join(header1.x, header1.y);
  if (tile == 0) check_ends(chunk, ends, heap_size);
  if (!may_be_fast(chunk, place, to)) return false;
  const std::uint32_t heap_end = ends[tile];
  const std::uint32_t heap_begin = tiles::gpu::begin_of(ends, tile);
  Outcome outcome = Outcome::bad;
  if (heap_begin <= heap_end && std::uint64_t{heap_end} * 16 <= heap_size) {
    outcome = decode_tile(chunk.in + bodies + place.body,
                          chunk.in + bodies + chunk.bodies_size + std::uint64_t{heap_begin} * 16,
                          heap_end - heap_begin, to, flat ? 2 * tiles::tile_width : chunk.pitch * 2,
                          room);
  }
  if (outcome == Outcome::bad && threadIdx.x % 32 == 0) tiles::gpu::report_bad_tile(chunk, tile);
  return outcome != Outcome::left;
}

template <Source source, bool flat>
__global__ __launch_bounds__(32 * max_warps,
                             1) void decode_tiles(const __grid_constant__ Batch batch) {
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const std::uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const std::uint32_t warp = __shfl_sync(all_lanes, threadIdx.x / 32, 0);
  const std::uint32_t rings = (shared_address(shared) + ring_size - 1) / ring_size * ring_size;
  const std::uint32_t patches = rings + warps * ring_size;
  const std::uint32_t table = patches + warps * patch_size;
  const Room room{table, rings + warp * ring_size, patches + warp * patch_size};
  copy_to_shared(table, reinterpret_cast<const uint4*>(&decode_table), sizeof decode_table / 16,
                 [](const uint4& v) { return v; });
  __syncthreads();
  for (std::uint32_t number = warp * gridDim.x + blockIdx.x; number < batch.tiles;
       number += warps * gridDim.x) {
    const Chunk& chunk =
        tiles::gpu::chunk_at<source>(batch, tiles::gpu::chunk_of_tile<source>(batch, number));
    const std::uint32_t tile = number - chunk.first_tile;
    const bool is_done = take_tile<flat>(chunk, tile, room);
    if (lane == 0) {
      batch.records.heap_units[chunk.first_record + tile] =
          is_done ? std::uint16_t{0} : tiles::gpu::not_coded;
    }
    sync_warp();
  }
}

}  // namespace

cudaError_t launch_decode(const Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_kind(batch, [&]<Source source, bool flat>() {
    const auto kernel = decode_tiles<source, flat>;
    const std::uint32_t warps = warps_for(batch.tiles);
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_size(max_warps));
    if (status != cudaSuccess) return status;
    kernel<<<std::min(multiprocessors, batch.tiles), 32 * warps, shared_size(warps), stream>>>(
        batch);
    return cudaGetLastError();
  });
}

}  // namespace offramp::exact_dense::gpu
