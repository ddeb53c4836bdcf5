// SPDX-License-Identifier: Apache-2.0
// Ordinary full tiles of bf16 to tiered planes: one block a tile, the data read once. Bodies go to
// their nominal places, heap pieces to the tile's staging. What is not ordinary is marked, for the
// general encoder. Where that made a chunk odd, so that no body stands where it should, the same
// kernel runs again over its ordinary tiles, which then know their places.
#include "codec/exact/cuda/channel_bases.cuh"
#include "codec/exact/cuda/fast_tile.cuh"
#include "codec/exact/cuda/launch.hpp"
#include "codec/exact/cuda/warp_tiers.cuh"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/find_tile.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

#include <algorithm>

namespace offramp::exact::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;

struct Room {
  union {
    ChoiceRoom choice;
    alignas(16) std::uint8_t piece[warps][piece_room];
  };
  Choice chosen;
  alignas(16) std::uint32_t size[warps];  ///< words, and raw values in the high half
};

// Pushes the v of row i that tier 1 sends on.
template <int i>
__device__ __forceinline__ void push_row(std::uint32_t& to, const std::uint32_t (&mask)[4],
                                         const std::uint32_t (&v)[4]) {
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    push<14 - 2 * i, 0>(to, mask[q], v[q]);
    push<30 - 2 * i, 2>(to, mask[q], v[q]);
  }
}

// By a warp; most pieces in one go.
__device__ __forceinline__ void copy_words(const std::uint32_t* from, std::uint32_t words,
                                           std::uint32_t* to) {
  constexpr std::uint32_t at_once = 6;
  const std::uint32_t lane = threadIdx.x % 32;
  from += lane;
  to += lane;
#pragma unroll 1
  for (std::uint32_t first = lane; first < words; first += 32 * at_once) {
    std::uint32_t word[at_once];
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (first + 32 * i < words) word[i] = from[32 * i];
    }
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (first + 32 * i < words) to[32 * i] = word[i];
    }
    from += 32 * at_once;
    to += 32 * at_once;
  }
}

// Codes tile `tile` of the batch. `placed`: to where the directories of its odd chunk say.
template <tiles::gpu::Source source, bool flat, bool placed>
__device__ __forceinline__ void encode_tile(const Batch& batch, std::uint32_t tile, Room& room) {
  const std::uint32_t chunk_number = tiles::gpu::chunk_of_tile<source>(batch, tile);
  const Chunk& chunk = tiles::gpu::chunk_at<source>(batch, chunk_number);
  const std::uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, octet = lane % 8;
  const std::uint32_t number = tile - chunk.first_tile;
  const auto place = tiles::gpu::place_of<flat>(chunk, number);
  const std::byte* from = chunk.in + place.first_elem * 2;
  const std::uint64_t pitch = flat ? tiles::tile_width : chunk.pitch;
  const bool is_fast = may_be_fast<flat>(chunk, place, from) && (flat || chunk.staging != 0);
  const std::uint32_t record = chunk.first_record + number;
  std::uint16_t& heap_units = batch.records.heap_units[record];
  if constexpr (placed) {
    if (batch.records.is_odd[chunk_number] == 0 || batch.records.body_units[record] != 0) return;
  } else {
    if (t == 0) {
      if (tile == 0) {
        batch.records.counters[tiles::gpu::rest_tiles] = 0;
        batch.records.counters[tiles::gpu::odd_chunks] = 0;
      }
      if (number == 0) {
        batch.records.is_odd[chunk_number] = 0;
        batch.records.raw_tiles[chunk_number] = 0;
        batch.records.is_large[chunk_number] = 0;
      }
      if (!is_fast) heap_units = tiles::gpu::not_coded;
      batch.records.body_units[record] = 0;
    }
    if (!is_fast) return;
  }

  // Rows 32 warp + 8 (lane / 8) + i, channels 8 octet and on.
  from += ((32 * warp + lane / 8 * 8) * pitch + 8 * octet) * 2;
  std::uint32_t x[8][4];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint4 row = __ldcs(reinterpret_cast<const uint4*>(from + i * pitch * 2));
    x[i][0] = to_planes(row.x);
    x[i][1] = to_planes(row.y);
    x[i][2] = to_planes(row.z);
    x[i][3] = to_planes(row.w);
  }
  const TileBases bases = choose_bases(x[0], x[4], room.choice, room.chosen);

  std::uint32_t minus_base[4], base_and_3[4];
  {
    uint2 bytes = reinterpret_cast<const uint2*>(room.chosen.base)[octet];
    if (bases.kind == Bases::shared) bytes.x = bytes.y = bases.low * 0x01010101u;
    const std::uint32_t base[4] = {widen_low(bytes.x), widen_high(bytes.x), widen_low(bytes.y),
                                   widen_high(bytes.y)};
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      minus_base[q] = __vsub2(0, base[q]);
      base_and_3[q] = base[q] + 0x01030103u;  // 256 more: no borrow between halves
    }
  }
  std::byte* body = chunk.out + tiles::gpu::bodies_at(chunk.tiles) + place.body;
  std::byte* heap_at = chunk.out + chunk.staging + std::uint64_t{number} * tiles::gpu::staging_size;
  if constexpr (placed) {
    const auto at = tiles::gpu::odd_place(chunk, number);
    body = chunk.out + at.body;
    heap_at = chunk.out + at.heap;
  }
  uint4* const plane = reinterpret_cast<uint4*>(body + tiles::tile_values / 4) + 128 * warp +
                       32 * (lane / 8) + octet;
  std::uint32_t codes[4] = {};
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    __stcs(plane + 4 * i,
           make_uint4(__byte_perm(x[i][0], x[i][1], 0x6420), __byte_perm(x[i][2], x[i][3], 0x6420),
                      __byte_perm(x[i + 1][0], x[i + 1][1], 0x6420),
                      __byte_perm(x[i + 1][2], x[i + 1][3], 0x6420)));
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const std::uint32_t exponent = exponents_of(x[i][q]);
      codes[q] = codes[q] * 4 + __viaddmin_u16x2(exponent, minus_base[q], 0x00030003u);
      x[i][q] = base_and_3[q] - exponent;
    }
  }
  __stcs(reinterpret_cast<uint4*>(body) + 32 * warp + lane,
         make_uint4(codes[0], codes[1], codes[2], codes[3]));

  std::uint32_t mask[4], count = 0;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    mask[q] = escapes_of(codes[q]);
    count += __popc(mask[q]);
  }
  const std::uint32_t upto = inclusive_scan(count);
  std::uint8_t* const piece = room.piece[warp];
  std::uint32_t to = shared_address(piece + codes_room) + upto - count;
  push_row<0>(to, mask, x[0]);
  push_row<1>(to, mask, x[1]);
  push_row<2>(to, mask, x[2]);
  push_row<3>(to, mask, x[3]);
  push_row<4>(to, mask, x[4]);
  push_row<5>(to, mask, x[5]);
  push_row<6>(to, mask, x[6]);
  push_row<7>(to, mask, x[7]);
  const PieceSize size = encode_piece_heap(piece, __shfl_sync(all_lanes, upto, 31));
  if (lane == 0) room.size[warp] = size.words | size.raw << 16;
  __syncthreads();

  const std::uint32_t of_warp = lane < warps ? room.size[lane] : 0;
  std::uint32_t before = __reduce_add_sync(all_lanes, lane < warp ? of_warp : 0);
  std::uint32_t total = __reduce_add_sync(all_lanes, of_warp);
  const std::uint32_t raw = total >> 16;
  before &= 0xffff;
  total &= 0xffff;
  const std::uint32_t bases_units = bases.kind == Bases::nibble ? 2
                                    : bases.kind == Bases::byte ? 4
                                                                : 0;
  const std::uint32_t units = 1 + bases_units + (total + 3) / 4;
  auto* const heap = reinterpret_cast<std::uint32_t*>(heap_at);
  // A zero is raw whatever the bases, so fewer raw values than that mean that it is no sparse tile.
  if constexpr (!placed) {
    const bool fits = 16 * units <= tiles::gpu::staging_size;
    if (t == 0) {
      const bool is_ordinary =
          fits && 16 * units <= max_heap_of(bases, room.chosen) && raw < tiles::tile_values / 8;
      heap_units = is_ordinary ? static_cast<std::uint16_t>(units) : tiles::gpu::not_coded;
    }
    if (!fits) return;
  }
  std::uint32_t* const pieces = heap + 4 + 4 * bases_units;
  copy_words(reinterpret_cast<const std::uint32_t*>(piece), size.words, pieces + before);
  if (t < (units - 1 - bases_units) * 4 - total) pieces[total + t] = 0;
  if (lane == 0) {
    const std::uint32_t low = bases.kind == Bases::byte ? 0 : bases.low;
    const std::uint32_t start =
        warp == 0 ? low | static_cast<std::uint32_t>(bases.kind) << 8 : before;
    reinterpret_cast<std::uint16_t*>(heap)[warp] = static_cast<std::uint16_t>(start);
  }
  if (bases.kind == Bases::byte && t < 16) {
    heap[4 + t] = reinterpret_cast<const std::uint32_t*>(room.chosen.base)[t];
  }
  if (bases.kind == Bases::nibble && t < 8) {
    const uint2 bytes = reinterpret_cast<const uint2*>(room.chosen.base)[t];
    const std::uint32_t low = bases.low * 0x01010101u;
    const auto pack = [&](std::uint32_t four) {  // differences below 16 to the low 16 bits
      const std::uint32_t pairs = four - low | (four - low) >> 4;
      return __byte_perm(pairs, 0, 0x4420);
    };
    heap[4 + t] = pack(bytes.x) | pack(bytes.y) << 16;
  }
}

// Four blocks of an SM in flight hide each other's barriers; 3, 5 and 6 are slower.
template <tiles::gpu::Source source, bool flat>
__global__ __launch_bounds__(256, 4) void encode_tiles(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  tiles::gpu::start_next_early();
  encode_tile<source, flat, false>(batch, blockIdx.x, room);
}

template <tiles::gpu::Source source, bool flat>
__global__ __launch_bounds__(256, 4) void place_tiles(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  cudaGridDependencySynchronize();
  if (batch.records.counters[tiles::gpu::odd_chunks] == 0) return;
  for (std::uint32_t tile = blockIdx.x; tile < batch.tiles; tile += gridDim.x) {
    encode_tile<source, flat, true>(batch, tile, room);
    __syncthreads();
  }
}

static_assert(sizeof(Room) <= 48 << 10, "more than a block gets unasked");

constexpr std::uint32_t max_place_blocks = 528;  // four for each of an H200's multiprocessors

}  // namespace

cudaError_t launch_encode(const tiles::gpu::Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_kind(batch, [&]<tiles::gpu::Source source, bool flat>() {
    encode_tiles<source, flat><<<batch.tiles, 256, 0, stream>>>(batch);
    return cudaGetLastError();
  });
}

cudaError_t launch_place(const tiles::gpu::Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_kind(batch, [&]<tiles::gpu::Source source, bool flat>() {
    return tiles::gpu::launch_early(place_tiles<source, flat>,
                                    std::min(batch.tiles, max_place_blocks), 256, 0, batch, stream);
  });
}

}  // namespace offramp::exact::gpu
