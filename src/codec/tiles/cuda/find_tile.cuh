// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/tiles/cuda/batch.cuh"
#include "codec/tiles/frame.hpp"

namespace offramp::tiles::gpu {

/// Number of the chunk that item `number` belongs to: the last whose `first` is not above it. All
/// 32 lanes call it and get the same answer.
template <class First>
__device__ __forceinline__ std::uint32_t find_chunk(std::uint32_t chunks, std::uint32_t number,
                                                    First first) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t begin = 0;
  std::uint32_t count = chunks;
  while (count > 1) {
    const std::uint32_t step = (count + 31) / 32;
    const std::uint32_t at = lane * step;
    const bool below = at < count && first(begin + at) <= number;
    const std::uint32_t last = 31 - __clz(__ballot_sync(~0u, below));
    begin += last * step;
    count = min(step, count - last * step);
  }
  return begin;
}

/// The chunk that has tile or piece of work `number` of the batch. All lanes of a warp call it and
/// get the same. `source` is a template argument, so that each kernel reads one kind of memory.
template <Source source, class First>
__device__ __forceinline__ std::uint32_t find_chunk(const Batch& batch, std::uint32_t number,
                                                    std::uint32_t per_chunk, First first) {
  if constexpr (source == Source::one) return 0;
  if (per_chunk != 0) return number / per_chunk;
  return find_chunk(batch.chunks, number, first);
}
template <Source source>
__device__ __forceinline__ const Chunk& chunk_at(const Batch& batch, std::uint32_t number) {
  if constexpr (source == Source::table) return batch.table[number];
  if constexpr (source == Source::any) {
    return (batch.table != nullptr ? batch.table : batch.few)[number];
  }
  return batch.few[source == Source::one ? 0 : number];
}
template <Source source>
__device__ __forceinline__ std::uint32_t chunk_of_tile(const Batch& batch, std::uint32_t tile) {
  return find_chunk<source>(batch, tile, batch.tiles_per_chunk,
                            [&](std::uint32_t i) { return chunk_at<source>(batch, i).first_tile; });
}
template <Source source>
__device__ __forceinline__ std::uint32_t chunk_of_work(const Batch& batch, std::uint32_t work) {
  return find_chunk<source>(batch, work, batch.works_per_chunk,
                            [&](std::uint32_t i) { return chunk_at<source>(batch, i).first_work; });
}

/// The chunk that has record `record`, for the calling thread alone.
template <Source source>
__device__ __forceinline__ std::uint32_t chunk_of_record(const Batch& batch, std::uint32_t record) {
  if constexpr (source == Source::one) return 0;
  if (batch.tiles_per_chunk != 0) return record / ((batch.tiles_per_chunk + 7) / 8 * 8);
  std::uint32_t begin = 0, end = batch.chunks;
  while (end - begin > 1) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    (chunk_at<source>(batch, middle).first_record <= record ? begin : end) = middle;
  }
  return begin;
}

/// Calls `code(chunk number, tile number)`, all threads of a block together, for the tiles of which
/// `wants(chunk number, tile number, record)`, one thread each, says so. The blocks of the grid
/// share the records of the batch.
template <Source source, class Wants, class Code>
__device__ __forceinline__ void for_tiles(const Batch& batch, Wants&& wants, Code&& code) {
  __shared__ std::uint32_t found;
  __shared__ std::uint32_t wanted[256];
  for (std::uint32_t base = 0; base < batch.record_count; base += gridDim.x * blockDim.x) {
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    // Neighbours go to different blocks: tiles that need the general coder come in runs.
    const std::uint32_t record = base + threadIdx.x * gridDim.x + blockIdx.x;
    if (record < batch.record_count) {
      const std::uint32_t number = chunk_of_record<source>(batch, record);
      const Chunk& chunk = chunk_at<source>(batch, number);
      const std::uint32_t tile = record - chunk.first_record;
      if (tile < chunk.tiles && wants(number, tile, record)) {
        wanted[atomicAdd(&found, 1u)] = record;
      }
    }
    __syncthreads();
    for (std::uint32_t i = 0; i < found; ++i) {
      const std::uint32_t number = chunk_of_record<source>(batch, wanted[i]);
      code(number, wanted[i] - chunk_at<source>(batch, number).first_record);
    }
    __syncthreads();
  }
}

/// Where a tile lies in its chunk.
struct TilePlace {
  std::uint64_t first_elem{};
  std::uint64_t body{};  ///< from the first body, if all bodies are nominal
  std::uint32_t rows{};
  std::uint32_t width{};
  std::uint32_t values{};
};

/// `flat`: as in Batch.
template <bool flat>
__device__ __forceinline__ TilePlace place_of(const Chunk& chunk, std::uint32_t tile) {
  if constexpr (flat) {
    return {.first_elem = std::uint64_t{tile} * tile_values,
            .body = std::uint64_t{tile} * chunk.body_size[1][1],
            .rows = tile_rows,
            .width = tile_width,
            .values = tile_values};
  }
  std::uint32_t band = tile;
  std::uint32_t column = 0;
  if (chunk.columns != 1) {
    band = tile / chunk.columns;
    column = tile - band * chunk.columns;
  }
  std::uint32_t group = 0;
  if (band >= chunk.bands) {
    group = band / chunk.bands;
    band -= group * chunk.bands;
  }
  const bool last_band = band + 1 == chunk.bands;
  const bool last_column = column + 1 == chunk.columns;
  const auto band_size = [&](bool last) {
    return std::uint64_t{chunk.columns - 1} * chunk.body_size[last][0] + chunk.body_size[last][1];
  };
  TilePlace place;
  place.first_elem = group * chunk.group_values + std::uint64_t{band} * tile_rows * chunk.pitch +
                     std::uint64_t{column} * tile_width;
  place.body = group * ((chunk.bands - 1) * band_size(false) + band_size(true)) +
               band * band_size(false) + std::uint64_t{column} * chunk.body_size[last_band][0];
  place.rows = last_band ? chunk.last_rows : tile_rows;
  place.width = last_column ? chunk.last_width : tile_width;
  place.values = last_band && chunk.columns == 1 ? chunk.last_values : place.rows * place.width;
  return place;
}

/// Offset in `out` of the staging, `size` a tile, of a heap piece; the tile has one.
__device__ __forceinline__ std::uint64_t staging_of(const Chunk& chunk, std::uint32_t size,
                                                    std::uint32_t tile) {
  if (chunk.staged_columns != chunk.columns) {
    const std::uint32_t row = tile / chunk.columns;
    tile = row * chunk.staged_columns + (tile - row * chunk.columns);
  }
  if (chunk.staged_bands != chunk.bands && tile >= chunk.bands * chunk.staged_columns) {
    const std::uint32_t group = tile / (chunk.bands * chunk.staged_columns);
    tile -= group * (chunk.bands - chunk.staged_bands) * chunk.staged_columns;
  }
  return chunk.staging + std::uint64_t{tile} * size;
}

/// Where tile `number` begins in its section in units of 16 bytes, by the ends of those before it.
/// The compiler is kept from choosing between 64-bit offsets: ptxas may read the 0 too early then
/// (docs/design/0007).
__device__ __forceinline__ std::uint32_t begin_of(const std::uint32_t* ends, std::uint32_t number) {
  std::uint32_t units = number == 0 ? 0 : ends[number - 1];
  asm("" : "+r"(units));
  return units;
}

/// Offset of the first body in a coded chunk.
__device__ __forceinline__ std::uint64_t bodies_at(std::uint32_t tiles) {
  const std::uint64_t front = header_size + std::uint64_t{tiles} * sizeof(std::uint32_t);
  return (front + bodies_alignment - 1) / bodies_alignment * bodies_alignment;
}

/// Whether nominal bodies and heap pieces of that size end before the staging, so that pieces can
/// be moved while others still stand there.
__device__ __forceinline__ bool pieces_fit(const Chunk& chunk, std::uint64_t heap_size) {
  return bodies_at(chunk.tiles) + chunk.bodies_size + heap_size <= chunk.staging;
}

}  // namespace offramp::tiles::gpu
