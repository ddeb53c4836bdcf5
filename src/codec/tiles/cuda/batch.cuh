// SPDX-License-Identifier: Apache-2.0
// What the kernels know of the chunks of one call. Chunks are numbered in the order given; tiles
// are numbered through the whole batch.
#pragma once

#include "codec/tiles/tile.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::tiles::gpu {

/// Bytes kept free for the heap piece of each tile of `exact` behind everything that a chunk of
/// tiered tiles needs: pieces wait there until their places are known. No memory beside the output
/// is needed.
inline constexpr std::uint32_t staging_size = 4096;

/// No tile has this mode.
inline constexpr TileMode no_mode = 0xff;

/// What a stage's kernels ask of the plan of a call.
struct Coding {
  const TileCoder& (*coder)() noexcept {};
  TileMode nominal_mode{};        ///< of the tiles that the fast coders take
  TileMode other_mode{no_mode};   ///< has nominal bodies as well, like `raw_mode`
  std::uint32_t staging_size{};   ///< for the heap piece of a tile, a multiple of 16
  bool stages_full_tiles_only{};  ///< else all tiles have a place in the staging
  /// Scratch of one block of the general coders.
  std::size_t (*block_scratch)(DType) noexcept {};
};

/// One chunk, as Tiling cuts it.
struct Chunk {
  const std::byte* in{};        ///< values (encode) or coded bytes (decode)
  std::byte* out{};             ///< coded bytes (encode) or values (decode)
  std::uint64_t* coded_size{};  ///< written by encode
  std::uint64_t in_size{};      ///< decode: of the coded chunk
  std::uint32_t* status{};      ///< decode: 0, or what went wrong first
  std::uint64_t group_values{};
  std::uint64_t pitch{};         ///< elements from row to row
  std::uint64_t staging{};       ///< offset in `out` of the first tile's staging; 0: there is none
  std::uint64_t bodies_size{};   ///< of nominal bodies
  std::uint32_t first_tile{};    ///< in the batch
  std::uint32_t first_record{};  ///< of its tiles in the records, a multiple of 8
  std::uint32_t first_work{};    ///< of the ordering kernel's pieces, in the batch
  std::uint32_t tiles{};
  std::uint32_t bands{};        ///< in a group
  std::uint32_t columns{};      ///< in a band
  std::uint32_t last_values{};  ///< of a tile of the last band, if there is one column
  std::uint16_t last_rows{};    ///< of the last band
  std::uint16_t last_width{};   ///< of the last column
  DType dtype{};
  std::uint32_t body_size[2][2]{};        ///< nominal, by [last band][last column]
  std::uint32_t other_body_size[2][2]{};  ///< the same in the other mode
  std::uint32_t staged_bands{};           ///< of a group: with places in the staging
  std::uint32_t staged_columns{};         ///< of a band
};

/// What is known of each tile while a chunk is coded, by record number.
struct Records {
  std::uint16_t*
      heap_units{};  ///< its heap piece in units of 16 bytes, or `not_coded`; decoders: or 0
  std::uint16_t* body_units{};   ///< 0: the body is nominal, the heap piece in the staging
  std::uint8_t* mode{};          ///< where `body_units` is not 0
  std::uint32_t* is_odd{};       ///< of each chunk: not 0 where a tile is not nominal
  std::uint32_t* raw_tiles{};    ///< of each chunk: how many; if all are raw, it is uniform too
  std::uint32_t* other_tiles{};  ///< the same of the other mode, where there is one
  std::uint32_t* is_large{};     ///< of each chunk: not 0 where a piece is larger than its staging
  std::uint32_t* counters{};     ///< tiles left to the general coder; odd chunks
};

/// Numbers of the counters.
inline constexpr std::uint32_t rest_tiles = 0;
inline constexpr std::uint32_t odd_chunks = 1;

/// A tile that the fast encoder or decoder leaves to the general one.
inline constexpr std::uint16_t not_coded = 0xffff;

/// Where a kernel finds the chunks. `any`: wherever they are; one kernel for all, with slower
/// loads.
enum class Source { one, few, table, any };

/// Chunks that travel with the launch itself; more are read from device memory.
inline constexpr std::uint32_t inline_chunks = 4;

struct Batch {
  const Chunk* table{};  ///< device memory, where there are more than `inline_chunks`
  std::uint32_t chunks{};
  std::uint32_t tiles{};
  std::uint32_t record_count{};     ///< padding included
  std::uint32_t tiles_per_chunk{};  ///< where all chunks have as many; else 0
  std::uint32_t works{};            ///< pieces of the ordering kernel
  std::uint32_t work_tiles{};       ///< of such a piece: a multiple of 8
  std::uint32_t works_per_chunk{};  ///< where all chunks have as many; else 0
  Records records{};
  std::byte* block_scratch{};  ///< of the general coders' blocks, `block_scratch_size` each
  std::uint32_t block_scratch_size{};
  std::uint32_t rest_blocks{};  ///< of the general coders
  std::uint32_t staging_size{};
  TileMode nominal_mode{};
  TileMode other_mode{no_mode};
  bool is_flat{};  ///< all tiles are full, their values contiguous and 16-byte aligned

  [[nodiscard]] Source source() const noexcept {
    return table != nullptr ? Source::table : chunks > 1 ? Source::few : Source::one;
  }

  Chunk few[inline_chunks]{};
};

/// Calls `launch.template operator()<source>()` for the batch's source.
template <class Launch>
auto with_source(const Batch& batch, Launch&& launch) {
  switch (batch.source()) {
    case Source::one:
      return launch.template operator()<Source::one>();
    case Source::few:
      return launch.template operator()<Source::few>();
    case Source::table:
    case Source::any:
      break;
  }
  return launch.template operator()<Source::table>();
}

/// Calls `launch.template operator()<source, flat>()` as the batch has it.
template <class Launch>
auto with_kind(const Batch& batch, Launch&& launch) {
  return with_source(batch, [&]<Source source>() {
    return batch.is_flat ? launch.template operator()<source, true>()
                         : launch.template operator()<source, false>();
  });
}

}  // namespace offramp::tiles::gpu
