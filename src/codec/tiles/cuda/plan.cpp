// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/cuda/plan.hpp"

#include "codec/tiles/frame.hpp"
#include "codec/tiles/tiling.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <algorithm>
#include <limits>

namespace offramp::tiles::gpu {
namespace {

// Blocks of the ordering kernel that one large batch is spread over: two for each multiprocessor of
// the largest GPUs. More would only read the records more often.
constexpr std::uint32_t wanted_works = 264;
constexpr std::uint32_t max_work_tiles = 512;

// Blocks of the general coders: what they work on is rare, and each needs scratch.
constexpr std::uint32_t max_rest_blocks = 132;

constexpr std::size_t piece(std::size_t bytes) { return round_up(bytes, 256); }

}  // namespace

void Plan::count(const TensorDesc& desc) {
  look_at(desc);
  const std::uint32_t tiles = seen_chunk_.tiles;
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max() - 8;
  OFFRAMP_EXPECTS(std::uint64_t{records_} + tiles <= most,
                  "a batch has more than 2^31 tiles: make two calls");
  if (chunks_ == 0) first_chunk_tiles_ = tiles;
  all_alike_ = all_alike_ && tiles == first_chunk_tiles_;
  ++chunks_;
  tiles_ += tiles;
  records_ += static_cast<std::uint32_t>(round_up(tiles, 8));
}

std::uint32_t Plan::work_tiles() const noexcept {
  const auto spread = static_cast<std::uint32_t>(round_up(ceil_div(tiles_, wanted_works), 8));
  return std::clamp<std::uint32_t>(spread, 8, max_work_tiles);
}

// Sets what of a chunk follows from its description alone.
void Plan::look_at(const TensorDesc& desc) {
  if (seen_chunk_.tiles != 0 && desc == seen_) return;
  OFFRAMP_EXPECTS(desc.checked_size(), "the shape is not sound");
  const Tiling tiling(desc.shape);
  OFFRAMP_EXPECTS(total_raw_size(desc, tiling), "a chunk is larger than 64 GiB: cut it into parts");
  OFFRAMP_EXPECTS(tiling.tiles() > 0, "a chunk has no elements: there is nothing to code on a GPU");
  const ChannelView view = channel_view(desc.shape);
  const auto tiles = static_cast<std::uint32_t>(tiling.tiles());
  const std::uint64_t rows = ceil_div(view.group_values, view.width);
  const TileExtent last = tiling.extent(true, true);
  Chunk chunk{.group_values = view.group_values,
              .pitch = view.width,
              .tiles = tiles,
              .bands = static_cast<std::uint32_t>(ceil_div(rows, tile_rows)),
              .columns = static_cast<std::uint32_t>(ceil_div(view.width, tile_width)),
              .last_values = last.values,
              .last_rows = static_cast<std::uint16_t>(last.rows),
              .last_width = static_cast<std::uint16_t>(last.width),
              .dtype = desc.dtype};
  const auto body_size = [&](TileExtent extent, TileMode mode) -> std::size_t {
    return mode == no_mode ? 0 : coding_.coder().nominal_body_size(desc.dtype, extent, mode);
  };
  for (const bool last_band : {false, true}) {
    for (const bool last_column : {false, true}) {
      const TileExtent extent = tiling.extent(last_band, last_column);
      if (extent.values == 0) continue;
      const auto size_in = [&](TileMode mode) {
        return static_cast<std::uint32_t>(body_size(extent, mode));
      };
      chunk.body_size[last_band][last_column] = size_in(coding_.nominal_mode);
      chunk.other_body_size[last_band][last_column] = size_in(coding_.other_mode);
    }
  }
  chunk.bodies_size = BodyPlaces(tiling, [&](TileExtent extent) {
                        return body_size(extent, coding_.nominal_mode);
                      }).begin(tiles);
  place_staging(desc, tiling, chunk);
  block_scratch_ = std::max(block_scratch_, piece(coding_.block_scratch(desc.dtype)));
  seen_ = desc;
  seen_chunk_ = chunk;
}

// Staging lies at the end of the output. Where every tile is nominal and its heap piece fits the
// staging, bodies and pieces in order end before it; where not, the staging is not used. A tile
// that has no place there takes no more than raw.
void Plan::place_staging(const TensorDesc& desc, const Tiling& tiling, Chunk& chunk) const {
  const auto has_place = [&](TileExtent extent) {
    return !coding_.stages_full_tiles_only || extent.is_full();
  };
  const std::uint32_t width = chunk.last_width;
  chunk.staged_columns = chunk.columns - !has_place({tile_rows, width, tile_rows * width});
  const TileExtent last =
      chunk.columns == 1 ? tiling.extent(true, true)
                         : TileExtent{chunk.last_rows, tile_width, chunk.last_rows * tile_width};
  chunk.staged_bands = chunk.bands - !has_place(last);
  const std::uint64_t groups = chunk.tiles / (std::uint64_t{chunk.bands} * chunk.columns);
  const std::uint64_t places = groups * chunk.staged_bands * chunk.staged_columns;
  const std::uint64_t staging = places * coding_.staging_size;
  const auto most = [&](TileExtent extent) -> std::size_t {
    if (!has_place(extent)) return raw_size(desc.dtype, extent);
    return coding_.coder().nominal_body_size(desc.dtype, extent, coding_.nominal_mode) +
           coding_.staging_size;
  };
  const std::uint64_t front = Layout::of({.tiles = chunk.tiles, .uniform = true}).bodies +
                              BodyPlaces(tiling, most).begin(chunk.tiles);
  const std::uint64_t capacity = max_encoded_size(desc) / section_alignment * section_alignment;
  if (places != 0 && front + staging <= capacity) chunk.staging = capacity - staging;
}

Chunk Plan::fill(const TensorDesc& desc) {
  look_at(desc);
  Chunk chunk = seen_chunk_;
  chunk.first_tile = filled_tiles_;
  chunk.first_record = filled_records_;
  chunk.first_work = filled_works_;
  filled_tiles_ += chunk.tiles;
  filled_records_ += static_cast<std::uint32_t>(round_up(chunk.tiles, 8));
  filled_works_ += static_cast<std::uint32_t>(ceil_div(chunk.tiles, work_tiles()));
  return chunk;
}

bool Plan::is_flat(const Chunk& chunk) const noexcept {
  return chunk.dtype == DType::bf16 && chunk.staging != 0 && chunk.columns == 1 &&
         chunk.pitch == tile_width && chunk.last_values == tile_values;
}

std::uint32_t Plan::rest_blocks() const noexcept { return std::min(tiles_, max_rest_blocks); }

std::size_t Plan::records_size() const noexcept {
  return 2 * piece(records_ * sizeof(std::uint16_t)) + piece(records_) +
         4 * piece(chunks_ * sizeof(std::uint32_t)) + piece(2 * sizeof(std::uint32_t));
}

std::size_t Plan::scratch_size() const noexcept { return rest_blocks() * block_scratch_; }

std::size_t Plan::host_size() const noexcept {
  return chunks_ > inline_chunks ? piece(chunks_ * sizeof(Chunk)) : 0;
}

std::size_t Plan::device_size() const noexcept {
  return records_size() + scratch_size() + host_size();
}

std::byte* Plan::table_in(std::byte* device) const noexcept {
  return device + records_size() + scratch_size();
}

void Plan::complete(std::byte* device, Batch& batch) const noexcept {
  batch.chunks = chunks_;
  batch.tiles = tiles_;
  batch.record_count = records_;
  batch.works = filled_works_;
  batch.work_tiles = work_tiles();
  if (chunks_ > inline_chunks) batch.table = reinterpret_cast<const Chunk*>(table_in(device));
  if (all_alike_) {
    batch.tiles_per_chunk = first_chunk_tiles_;
    batch.works_per_chunk = static_cast<std::uint32_t>(ceil_div(first_chunk_tiles_, work_tiles()));
  }
  batch.rest_blocks = rest_blocks();
  batch.staging_size = coding_.staging_size;
  batch.nominal_mode = coding_.nominal_mode;
  batch.other_mode = coding_.other_mode;
  batch.block_scratch_size = static_cast<std::uint32_t>(block_scratch_);
  const auto take = [&](std::size_t bytes) {
    std::byte* const at = device;
    device += piece(bytes);
    return at;
  };
  batch.records.heap_units = reinterpret_cast<std::uint16_t*>(take(records_ * 2));
  batch.records.body_units = reinterpret_cast<std::uint16_t*>(take(records_ * 2));
  batch.records.mode = reinterpret_cast<std::uint8_t*>(take(records_));
  batch.records.is_odd = reinterpret_cast<std::uint32_t*>(take(chunks_ * 4));
  batch.records.raw_tiles = reinterpret_cast<std::uint32_t*>(take(chunks_ * 4));
  batch.records.other_tiles = reinterpret_cast<std::uint32_t*>(take(chunks_ * 4));
  batch.records.is_large = reinterpret_cast<std::uint32_t*>(take(chunks_ * 4));
  batch.records.counters = reinterpret_cast<std::uint32_t*>(take(2 * sizeof(std::uint32_t)));
  batch.block_scratch = device;
}

}  // namespace offramp::tiles::gpu
