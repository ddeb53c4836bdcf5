// SPDX-License-Identifier: Apache-2.0
// Ordinary full tiles of bf16 from tiered planes: one block a tile. Everything that the block needs
// is asked for before anything is waited for but the two ends of the heap piece.
#include "codec/exact/cuda/fast_tile.cuh"
#include "codec/exact/cuda/launch.hpp"
#include "codec/exact/cuda/warp_tiers.cuh"
#include "codec/exact/exact_format.hpp"
#include "codec/tiles/cuda/coded_chunk.cuh"
#include "codec/tiles/cuda/find_tile.cuh"
#include "codec/tiles/cuda/launch_early.cuh"

namespace offramp::exact::gpu {
namespace {

using tiles::gpu::Batch;
using tiles::gpu::Chunk;

constexpr std::uint32_t warps = 8;

struct Room {
  alignas(16) std::uint8_t heap[fast_heap_size];
  alignas(16) std::uint8_t v[warps][2048];
};

// Bases of the lane's eight channels as two words of bytes.
__device__ __forceinline__ uint2 bases_of(Bases kind, std::uint32_t low,
                                          const std::uint8_t* section, std::uint32_t octet) {
  const std::uint32_t all = low * 0x01010101u;
  if (kind == Bases::byte) return reinterpret_cast<const uint2*>(section)[octet];
  if (kind == Bases::shared) return make_uint2(all, all);
  const std::uint32_t nibbles = reinterpret_cast<const std::uint32_t*>(section)[octet];
  const std::uint32_t even = nibbles & 0x0f0f0f0fu, odd = nibbles >> 4 & 0x0f0f0f0fu;
  return make_uint2(__vadd4(__byte_perm(even, odd, 0x5140), all),
                    __vadd4(__byte_perm(even, odd, 0x7362), all));
}

template <tiles::gpu::Source source, bool flat>
__global__ __launch_bounds__(256, 5) void decode_tiles(const __grid_constant__ Batch batch) {
  __shared__ Room room;
  const std::uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, octet = lane % 8;
  const Chunk& chunk =
      tiles::gpu::chunk_at<source>(batch, tiles::gpu::chunk_of_tile<source>(batch, blockIdx.x));
  const std::uint32_t number = blockIdx.x - chunk.first_tile;
  const auto place = tiles::gpu::place_of<flat>(chunk, number);
  std::byte* to = chunk.out + place.first_elem * 2;
  const std::uint64_t pitch = flat ? tiles::tile_width : chunk.pitch;
  tiles::gpu::start_next_early();
  std::uint16_t& heap_units = batch.records.heap_units[chunk.first_record + number];
  const auto leave = [&] {
    if (t == 0) heap_units = tiles::gpu::not_coded;
  };
  if (!may_be_fast<flat>(chunk, place, to)) return leave();
  // A chunk too short for its header, ends or bodies is reported by the general decoder.
  const std::uint64_t bodies = tiles::gpu::bodies_at(chunk.tiles);
  if (chunk.in_size < bodies + chunk.bodies_size) return leave();
  const std::byte* const body = chunk.in + bodies + place.body;
  const auto* const ends = reinterpret_cast<const std::uint32_t*>(chunk.in + tiles::header_size);
  const uint4 header0 = *reinterpret_cast<const uint4*>(chunk.in);
  const uint4 header1 = *reinterpret_cast<const uint4*>(chunk.in + 16);
  const std::uint32_t heap_end = ends[number];
  const std::uint32_t heap_begin = tiles::gpu::begin_of(ends, number);
  const uint4 codes = __ldcs(reinterpret_cast<const uint4*>(body) + 32 * warp + lane);
  uint4 plane[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    plane[i] = __ldcs(reinterpret_cast<const uint4*>(body + tiles::tile_values / 4) + 128 * warp +
                      32 * (lane / 8) + octet + 8 * i);
  }
  if (!tiles::gpu::is_nominal(chunk, header0, header1, tiered_mode)) return leave();
  const std::uint64_t heap_size = tiles::gpu::join(header1.x, header1.y);
  const std::uint32_t units = heap_end - heap_begin;
  if (heap_begin > heap_end || std::uint64_t{heap_end} * 16 > heap_size) {
    if (t == 0) {
      heap_units = 0;
      tiles::gpu::report_bad_tile(chunk, number);
    }
    return;
  }
  if (number == 0 && warp == 0) {  // what is checked once a chunk
    bool is_bad = std::uint64_t{ends[chunk.tiles - 1]} * 16 != heap_size;
    for (std::uint64_t i = chunk.tiles + lane; i < (bodies - tiles::header_size) / 4; i += 32) {
      is_bad = is_bad || ends[i] != 0;
    }
    if (is_bad) tiles::gpu::report_bad_frame(chunk);
  }
  if (units * 16 > fast_heap_size) return leave();
  if (t == 0) heap_units = 0;
  if (t < units) {
    const auto* const heap =
        reinterpret_cast<const uint4*>(chunk.in + bodies + chunk.bodies_size) + heap_begin;
    reinterpret_cast<uint4*>(room.heap)[t] = __ldcs(heap + t);
  }
  __syncthreads();

  const auto* const starts = reinterpret_cast<const std::uint16_t*>(room.heap);
  const auto kind = static_cast<Bases>(starts[0] >> 8);
  const std::uint32_t low = starts[0] & 0xff;
  const std::uint32_t at_pieces = 16 + (kind == Bases::nibble ? 32 : kind == Bases::byte ? 64 : 0);
  bool is_sound = units > 0 && (kind == Bases::nibble || kind == Bases::shared ||
                                (kind == Bases::byte && low == 0));
  const std::uint32_t begin = at_pieces + (warp == 0 ? 0u : 4u * starts[warp]);
  const std::uint32_t end = warp + 1 == warps ? 16 * units : at_pieces + 4u * starts[warp + 1];
  is_sound = is_sound && begin <= end && end <= 16 * units;

  std::uint32_t code[4] = {codes.x, codes.y, codes.z, codes.w};
  std::uint32_t mask[4], count = 0;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    mask[q] = escapes_of(code[q]);
    count += __popc(mask[q]);
  }
  const std::uint32_t upto = inclusive_scan(count);
  std::uint8_t* const v = room.v[warp];
  if (is_sound) {
    const std::uint32_t used =
        decode_piece_heap(room.heap + begin, end - begin, __shfl_sync(all_lanes, upto, 31), v);
    // Every piece but the last ends where the next begins, and the last 16 bytes before the end.
    const std::uint32_t left = end - begin - used;
    is_sound = used <= end - begin && left < (warp + 1 == warps ? 16u : 4u);
    if (is_sound && lane < left) is_sound = room.heap[begin + used + lane] == 0;
    is_sound = __all_sync(all_lanes, is_sound);
  }
  if (!is_sound) {
    if (lane == 0) tiles::gpu::report_bad_tile(chunk, number);
    return;
  }
  __syncwarp();

  const uint2 bases = bases_of(kind, low, room.heap + 16, octet);
  const std::uint32_t base[4] = {widen_low(bases.x), widen_high(bases.x), widen_low(bases.y),
                                 widen_high(bases.y)};
  std::uint32_t from = shared_address(v) + upto - count;
  to += ((32 * warp + lane / 8 * 8) * pitch + 8 * octet) * 2;
  const auto store_row = [&]<int i>() {
    const uint4& pair = plane[i / 2];
    const std::uint32_t first = i % 2 ? pair.z : pair.x, second = i % 2 ? pair.w : pair.y;
    std::uint32_t word[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      std::uint32_t exponent = ((code[q] >> (14 - 2 * i)) & 0x00030003u) + base[q];
      pop<14 - 2 * i, 1u>(from, mask[q], exponent);
      pop<30 - 2 * i, 65536u>(from, mask[q], exponent);
      word[q] = from_planes(__byte_perm(exponent, q < 2 ? first : second, q % 2 ? 0x2706 : 0x2504));
    }
    __stcs(reinterpret_cast<uint4*>(to + i * pitch * 2),
           make_uint4(word[0], word[1], word[2], word[3]));
  };
  store_row.template operator()<0>();
  store_row.template operator()<1>();
  store_row.template operator()<2>();
  store_row.template operator()<3>();
  store_row.template operator()<4>();
  store_row.template operator()<5>();
  store_row.template operator()<6>();
  store_row.template operator()<7>();
}

}  // namespace

cudaError_t launch_decode(const tiles::gpu::Batch& batch, cudaStream_t stream) {
  return tiles::gpu::with_kind(batch, [&]<tiles::gpu::Source source, bool flat>() {
    decode_tiles<source, flat><<<batch.tiles, 256, 0, stream>>>(batch);
    return cudaGetLastError();
  });
}

}  // namespace offramp::exact::gpu
