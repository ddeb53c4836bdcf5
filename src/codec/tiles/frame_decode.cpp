// SPDX-License-Identifier: Apache-2.0
#include "codec/tiles/frame.hpp"
#include "codec/tiles/rows.hpp"
#include "codec/tiles/tile_runs.hpp"
#include "codec/tiles/words.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

namespace offramp::tiles {
namespace {

// What one worker needs: the tile code's scratch, then a tile that does not go to the output as it
// is.
struct WorkerScratch {
  std::size_t coder{};
  std::size_t size{};

  WorkerScratch(const TileCoder& tile_coder, DType dtype)
      : coder(round_up(tile_coder.scratch_size(dtype), scratch_alignment)),
        size(coder + round_up(tile_values * size_of(dtype), scratch_alignment)) {}
};

Error corrupt(std::string what) {
  return Error{
      .code = ErrorCode::corrupt_payload, .what = std::move(what), .path = {}, .remedy = {}};
}

// The sections of a coded chunk, checked against each other; tiles are checked as they are asked
// for.
class Directory {
 public:
  struct Coded {
    TileMode mode{};
    std::span<const std::byte> body;
    std::span<const std::byte> heap;
  };

  static Result<Directory> read(const TileCoder& coder, const DecodeArgs& args,
                                const Tiling& tiling) {
    if (args.in.size() < header_size) {
      return Error{
          .code = ErrorCode::truncated,
          .what = fmt::format("a coded chunk of {} bytes ends in its header", args.in.size()),
          .path = {},
          .remedy = {}};
    }
    const auto header = read_header(args.in.data());
    if (!header) return corrupt("the header of a coded chunk has unknown flags");
    if (header->tiles != tiling.tiles()) {
      return corrupt(fmt::format("a coded chunk has {} tiles where shape {} has {}", header->tiles,
                                 args.desc.shape.to_string(), tiling.tiles()));
    }
    if (header->bodies_size > max_sections_size || header->heap_size > max_sections_size) {
      return corrupt("the header of a coded chunk states sizes that no tiles have");
    }
    Directory directory(coder, args, tiling, *header);
    const Layout& at = directory.at_;
    if (at.size != args.in.size()) {
      return Error{
          .code = args.in.size() < at.size ? ErrorCode::truncated : ErrorCode::corrupt_payload,
          .what = fmt::format("a coded chunk has {} bytes where its header says {}", args.in.size(),
                              at.size),
          .path = {},
          .remedy = {}};
    }
    if (!directory.is_sound()) return corrupt("the directory of a coded chunk contradicts itself");
    return directory;
  }

  // Nothing where the tile's ends fall or leave their section.
  [[nodiscard]] std::optional<Coded> tile(std::uint64_t number) const noexcept {
    const auto heap =
        piece(at_.heap, header_.heap_size, end(at_.heap_ends, number), begin_heap(number));
    if (!heap) return std::nullopt;
    std::uint64_t body_begin = 0;
    std::uint64_t body_end = 0;
    TileMode mode = header_.mode;
    if (header_.uniform) {
      body_begin = places_.begin(number);
      body_end = places_.begin(number + 1);
    } else {
      body_begin = number == 0 ? 0 : end(at_.body_ends, number - 1);
      body_end = end(at_.body_ends, number);
      mode = load<TileMode>(in_.data() + at_.modes + number * sizeof(TileMode));
    }
    const auto body = piece(at_.bodies, header_.bodies_size, body_end, body_begin);
    if (!body) return std::nullopt;
    return Coded{.mode = mode, .body = *body, .heap = *heap};
  }

 private:
  Directory(const TileCoder& coder, const DecodeArgs& args, const Tiling& tiling,
            const Header& header)
      : in_(args.in),
        header_(header),
        at_(Layout::of(header)),
        places_(tiling, [&](TileExtent extent) {
          if (!header.uniform) return std::size_t{0};
          const std::size_t size = coder.nominal_body_size(args.desc.dtype, extent, header.mode);
          has_places_ = has_places_ && size != 0;
          return size;
        }) {}

  [[nodiscard]] std::uint64_t end(std::uint64_t ends, std::uint64_t number) const noexcept {
    return std::uint64_t{load<std::uint32_t>(in_.data() + ends + number * sizeof(std::uint32_t))} *
           section_alignment;
  }
  [[nodiscard]] std::uint64_t begin_heap(std::uint64_t number) const noexcept {
    return number == 0 ? 0 : end(at_.heap_ends, number - 1);
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> piece(
      std::uint64_t section, std::uint64_t size, std::uint64_t piece_end,
      std::uint64_t piece_begin) const noexcept {
    if (piece_begin > piece_end || piece_end > size) return std::nullopt;
    return in_.subspan(section + piece_begin, piece_end - piece_begin);
  }

  [[nodiscard]] bool is_sound() const noexcept {
    const std::uint64_t tiles = header_.tiles;
    const auto padding = [&](std::uint64_t section, std::uint64_t used, std::uint64_t next) {
      return is_zero(in_.subspan(section + used, next - section - used));
    };
    const std::uint64_t ends_size = tiles * sizeof(std::uint32_t);
    if (!padding(at_.heap_ends, ends_size, at_.bodies)) return false;
    if (tiles == 0) return header_.bodies_size == 0 && header_.heap_size == 0 && !header_.uniform;
    if (end(at_.heap_ends, tiles - 1) != header_.heap_size) return false;
    if (header_.uniform) {
      return has_places_ && places_.begin(tiles) == header_.bodies_size;
    }
    return end(at_.body_ends, tiles - 1) == header_.bodies_size &&
           padding(at_.body_ends, ends_size, at_.modes) &&
           padding(at_.modes, tiles * sizeof(TileMode), at_.size);
  }

  std::span<const std::byte> in_;
  Header header_;
  Layout at_;
  bool has_places_{true};  // before places_, whose constructor clears it
  BodyPlaces places_;
};

// Copies those rows of a tile that lie in the wanted range [first, first + out).
void scatter(const Tile& tile, const std::byte* values, std::size_t width, std::uint64_t first,
             std::span<std::byte> out) {
  const std::uint64_t last = first + out.size() / width;
  if (!tile.is_contiguous() && tile.first_elem >= first && tile.behind() <= last) {
    const std::size_t row = tile.extent.width * width;
    copy_rows(
        {.rows = tile.extent.rows, .size = row, .from_pitch = row, .to_pitch = tile.pitch * width},
        values, out.data() + (tile.first_elem - first) * width);
    return;
  }
  std::uint64_t left = tile.extent.values;
  for (std::uint64_t row = 0; row < tile.extent.rows; ++row) {
    const std::uint64_t row_first = tile.first_elem + row * tile.pitch;
    const std::uint64_t row_size = std::min<std::uint64_t>(tile.extent.width, left);
    const std::uint64_t begin = std::max(row_first, first);
    const std::uint64_t end = std::min(row_first + row_size, last);
    if (begin < end) {
      std::memcpy(out.data() + (begin - first) * width, values + (begin - row_first) * width,
                  (end - begin) * width);
    }
    values += row_size * width;
    left -= row_size;
  }
}

// True if a row of the tile holds an element of [first, last).
bool overlaps(const Tile& tile, std::uint64_t first, std::uint64_t last) {
  if (tile.first_elem >= last || tile.behind() <= first) return false;
  if (last - first >= tile.pitch) return true;
  // Less than a row is wanted: it lies in the columns of one or two rows.
  const std::uint64_t row = first > tile.first_elem ? (first - tile.first_elem) / tile.pitch : 0;
  const std::uint64_t row_first = tile.first_elem + row * tile.pitch;
  const bool in_row = first < row_first + tile.extent.width && last > row_first;
  return in_row || last > row_first + tile.pitch;
}

}  // namespace

std::size_t decode_scratch_size(const TileCoder& coder, const TensorDesc& desc,
                                std::size_t workers) {
  return RunQueue::scratch_size(workers) + workers * WorkerScratch(coder, desc.dtype).size +
         scratch_alignment - 1;
}

Result<void> decode_chunk(const TileCoder& coder, const DecodeArgs& args) {
  const DType dtype = args.desc.dtype;
  const std::size_t width = size_of(dtype);
  const Tiling tiling(args.desc.shape);
  if (!total_raw_size(args.desc, tiling)) {
    return Error{.code = ErrorCode::bad_header,
                 .what = fmt::format("a coded chunk of shape {} is larger than any encoder makes",
                                     args.desc.shape.to_string()),
                 .path = {},
                 .remedy = {}};
  }
  OFFRAMP_TRY(directory, Directory::read(coder, args, tiling));

  const WorkerScratch sizes(coder, dtype);
  std::byte* const scratch = align_scratch(args.scratch.data());
  std::byte* const worker_scratch = scratch + RunQueue::scratch_size(args.workers->size());
  const std::uint64_t first = args.first_elem;
  const std::uint64_t last = first + args.out.size() / width;
  const Tiling::Range range = tiling.tiles_of(first, last);
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> bad_tile{none};

  // Returns whether the tile, where it holds what is wanted, is sound.
  const auto decode_tile = [&](std::uint64_t number, std::byte* own) {
    const Tile tile = tiling.tile(number);
    if (!overlaps(tile, first, last)) return true;
    const auto coded = directory.tile(number);
    const bool direct = tile.lies_in_lines() && tile.first_elem >= first && tile.behind() <= last;
    const Lines values =
        direct ? Lines{args.out.data() + (tile.first_elem - first) * width, tile.line_pitch(width)}
               : Lines::without_gaps(own + sizes.coder, width);
    if (!coded ||
        !coder.decode(dtype, tile.extent, coded->mode, coded->body, coded->heap, values, own)) {
      return false;
    }
    if (!direct) scatter(tile, values.first, width, first, args.out);
    return true;
  };
  const TileRuns runs(range.end - range.begin, args.workers->size());
  RunQueue(runs, scratch).for_each(*args.workers, [&](std::uint64_t run, std::size_t worker) {
    const std::uint64_t end = range.begin + runs.begin(run + 1);
    for (std::uint64_t number = range.begin + runs.begin(run); number < end; ++number) {
      // Tiles before a bad one are still tried, so that the error names the first.
      std::uint64_t bad = bad_tile.load(std::memory_order_relaxed);
      if (number > bad) return;
      if (decode_tile(number, worker_scratch + worker * sizes.size)) continue;
      while (number < bad && !bad_tile.compare_exchange_weak(bad, number)) {
      }
      return;
    }
  });
  if (bad_tile != none) {
    return corrupt(fmt::format("tile {} of {} of a coded chunk does not decode", bad_tile.load(),
                               tiling.tiles()));
  }
  return {};
}

}  // namespace offramp::tiles
