// SPDX-License-Identifier: Apache-2.0
//
// Bodies go where they belong at once: the first tile's mode is taken to be every tile's, which
// makes the place of each body known. Heap pieces are staged in scratch and copied behind the
// bodies when their sizes are known. A group of tiles, one worker's piece of work, keeps to this
// until a tile differs; from there on its bodies are staged too. The result depends on neither the
// groups nor the guess.
#include "codec/tiles/frame.hpp"
#include "codec/tiles/rows.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::tiles {
namespace {

// Large enough that the one tile a group, which cannot be coded in place for lack of room behind
// it, does not count; small enough to spread 8 MiB over several threads.
constexpr std::uint64_t max_group_tiles = 32;
constexpr std::uint64_t groups_per_worker = 4;

// What is kept of a tile, and of a group, until the end.
struct Group {
  std::uint64_t bodies_size{};
  std::uint64_t heap_size{};
  std::uint64_t placed_size{};  // of the bodies that stand at their nominal place
  std::uint64_t placed_tiles{};
  std::uint64_t bodies_begin{};  // where they belong, set at the end
  std::uint64_t heap_begin{};
};

// How the encode scratch is cut: tiles | groups | staging of each group | workers.
struct ScratchPlan {
  std::uint64_t group_tiles{};
  std::uint64_t groups{};
  std::size_t body_size{};   // for one body, wherever it goes in the end
  std::size_t heap_slack{};  // behind the staging of a group: a heap piece may be written there
  std::size_t coder_size{};
  std::size_t values_size{};  // a gathered tile
  std::size_t worker_size{};
  std::size_t groups_at{};
  std::size_t staging_at{};
  std::size_t workers_at{};
  std::size_t size{};

  ScratchPlan(const TileCoder& coder, DType dtype, std::uint64_t tiles, std::uint64_t raw_size,
              std::size_t workers) {
    const auto piece = [](std::size_t bytes) { return round_up(bytes, scratch_alignment); };
    group_tiles =
        std::clamp<std::uint64_t>(ceil_div(tiles, workers * groups_per_worker), 1, max_group_tiles);
    groups = ceil_div(tiles, group_tiles);
    body_size = piece(coder.max_body_size(dtype));
    heap_slack = coder.max_heap_size(dtype);
    coder_size = piece(coder.scratch_size(dtype));
    values_size = piece(tile_values * size_of(dtype) + read_slack);
    worker_size = coder_size + values_size + body_size;
    groups_at = piece(tiles * sizeof(CodedTile));
    staging_at = groups_at + piece(groups * sizeof(Group));
    workers_at = staging_at + piece(raw_size + groups * heap_slack);
    size = workers_at + workers * worker_size + scratch_alignment - 1;
  }
};

class ChunkEncoder {
 public:
  ChunkEncoder(const TileCoder& coder, const EncodeArgs& args, const Tiling& tiling,
               const ScratchPlan& plan)
      : coder_(coder),
        args_(args),
        tiling_(tiling),
        plan_(plan),
        dtype_(args.in.desc.dtype),
        raw_places_(tiling, [this](TileExtent extent) { return raw_size(dtype_, extent); }),
        nominal_places_(raw_places_),
        bodies_(args.out.data() +
                Layout::of({.tiles = static_cast<std::uint32_t>(tiling.tiles())}).bodies),
        scratch_(align_scratch(args.scratch.data())),
        tiles_(reinterpret_cast<CodedTile*>(scratch_)),
        groups_(reinterpret_cast<Group*>(scratch_ + plan.groups_at)) {}

  std::size_t encode() {
    for (std::uint64_t group = 0; group < plan_.groups; ++group) groups_[group] = Group{};
    encode_first();
    args_.workers->for_each(plan_.groups, [this](std::size_t group, std::size_t worker) {
      encode_group(group, worker);
    });
    return finish();
  }

 private:
  // Staged bodies lie from the end downwards, heap pieces from the start upwards. Neither meets the
  // other: a tile's body and heap piece are never larger than its values, which the staging has
  // room for, and the slack between them takes what is written behind a heap piece.
  struct Staging {
    std::byte* heap{};
    std::byte* bodies_end{};
  };

  [[nodiscard]] std::uint64_t first_tile(std::uint64_t group) const noexcept {
    return std::min(group * plan_.group_tiles, tiling_.tiles());
  }
  [[nodiscard]] Staging staging(std::uint64_t group) const noexcept {
    std::byte* const begin = scratch_ + plan_.staging_at + group * plan_.heap_slack;
    return {.heap = begin + raw_places_.begin(first_tile(group)),
            .bodies_end = begin + raw_places_.begin(first_tile(group + 1)) + plan_.heap_slack};
  }
  [[nodiscard]] std::byte* worker_scratch(std::size_t worker) const noexcept {
    return scratch_ + plan_.workers_at + worker * plan_.worker_size;
  }

  // The tile's values with slack behind them: in place, or copied to `gathered`.
  ConstLines values_of(const Tile& tile, std::byte* gathered) const noexcept {
    const std::size_t width = size_of(dtype_);
    const std::byte* from = args_.in.bytes.data() + tile.first_elem * width;
    const std::size_t behind = args_.in.bytes.size() - tile.behind() * width;
    if (tile.lies_in_lines() && behind >= read_slack) return {from, tile.line_pitch(width)};
    const std::size_t size = tile.extent.values * width;
    if (tile.is_contiguous()) {
      std::memcpy(gathered, from, size);
    } else {
      const std::size_t row = tile.extent.width * width;
      copy_rows({.rows = tile.extent.rows,
                 .size = row,
                 .from_pitch = tile.pitch * width,
                 .to_pitch = row},
                from, gathered);
    }
    std::memset(gathered + size, 0, read_slack);
    return ConstLines::without_gaps(gathered, width);
  }

  [[nodiscard]] bool is_nominal(const CodedTile& coded, TileExtent extent) const noexcept {
    return has_guess_ && coded.mode == guess_ &&
           coded.body_size == coder_.nominal_body_size(dtype_, extent, guess_);
  }

  CodedTile encode_tile(const Tile& tile, std::byte* body, std::byte* heap, std::byte* own) const {
    const ConstLines values = values_of(tile, own + plan_.coder_size);
    const CodedTile coded = coder_.encode(dtype_, tile.extent, values, body, heap, own);
    OFFRAMP_EXPECTS(std::size_t{coded.body_size} + coded.heap_size <= raw_size(dtype_, tile.extent),
                    "a tile code made a tile larger than its values");
    return coded;
  }

  // Codes tile 0 and guesses from it. Its body begins the bodies whatever the others are; it is
  // left in worker 0's scratch, which no loop uses before the guess is made.
  void encode_first() {
    const Tile tile = tiling_.tile(0);
    std::byte* const own = worker_scratch(0);
    std::byte* const body = own + plan_.coder_size + plan_.values_size;
    tiles_[0] = encode_tile(tile, body, staging(0).heap, own);
    guess_ = tiles_[0].mode;
    has_guess_ = true;
    nominal_places_ = BodyPlaces(tiling_, [this](TileExtent extent) {
      const std::size_t size = coder_.nominal_body_size(dtype_, extent, guess_);
      has_guess_ = has_guess_ && size != 0;
      return size;
    });
    const std::uint64_t tiles = tiling_.tiles();
    if (has_guess_ && nominal_places_.begin(tiles) > raw_places_.begin(tiles)) has_guess_ = false;
    keep_body(0, 0, tile.extent, body);
  }

  // Takes in a body that was coded to `body`, and the tile's sizes.
  void keep_body(std::uint64_t number, std::uint64_t group_number, TileExtent extent,
                 const std::byte* body) {
    const CodedTile& coded = tiles_[number];
    Group& group = groups_[group_number];
    const bool in_order = number == first_tile(group_number) + group.placed_tiles;
    if (in_order && is_nominal(coded, extent)) {
      std::byte* const place = bodies_ + nominal_places_.begin(number);
      if (body != place) std::memcpy(place, body, coded.body_size);
      ++group.placed_tiles;
      group.placed_size += coded.body_size;
    } else {
      const std::uint64_t staged = group.bodies_size - group.placed_size + coded.body_size;
      std::memcpy(staging(group_number).bodies_end - staged, body, coded.body_size);
    }
    group.bodies_size += coded.body_size;
    group.heap_size += coded.heap_size;
  }

  void encode_group(std::uint64_t group_number, std::size_t worker) {
    Group& group = groups_[group_number];
    const std::uint64_t end = first_tile(group_number + 1);
    std::byte* const own = worker_scratch(worker);
    std::byte* const spare = own + plan_.coder_size + plan_.values_size;
    std::byte* const heap = staging(group_number).heap;
    const std::uint64_t room_end = has_guess_ ? nominal_places_.begin(end) : 0;
    for (std::uint64_t number = first_tile(group_number) + (group_number == 0 ? 1 : 0);
         number < end; ++number) {
      // What a coder writes behind a body must hit nothing but places of later tiles of the group.
      const bool in_order = number == first_tile(group_number) + group.placed_tiles;
      const std::uint64_t place = nominal_places_.begin(number);
      const bool direct = has_guess_ && in_order && place + plan_.body_size <= room_end;
      std::byte* const body = direct ? bodies_ + place : spare;
      const Tile tile = tiling_.tile(number);
      tiles_[number] = encode_tile(tile, body, heap + group.heap_size, own);
      keep_body(number, group_number, tile.extent, body);
    }
  }

  std::size_t finish() {
    const std::uint64_t tiles = tiling_.tiles();
    Header header{.tiles = static_cast<std::uint32_t>(tiles), .uniform = true, .mode = guess_};
    for (std::uint64_t i = 0; i < plan_.groups; ++i) {
      Group& group = groups_[i];
      group.bodies_begin = header.bodies_size;
      group.heap_begin = header.heap_size;
      header.bodies_size += group.bodies_size;
      header.heap_size += group.heap_size;
      header.uniform = header.uniform && group.placed_tiles == first_tile(i + 1) - first_tile(i);
    }
    const Layout at = Layout::of(header);
    write_header(header, args_.out.data());
    write_heap_directory(at);
    if (!header.uniform) move_placed();
    args_.workers->for_each(plan_.groups, [&](std::size_t group, std::size_t) {
      copy_staged(group, args_.out.data() + at.heap);
    });
    if (!header.uniform) write_body_directory(at);
    return at.size;
  }

  void write_heap_directory(const Layout& at) {
    std::byte* to = args_.out.data() + at.heap_ends;
    std::uint64_t end = 0;
    for (std::uint64_t number = 0; number < tiling_.tiles(); ++number, to += 4) {
      end += tiles_[number].heap_size / section_alignment;
      store(to, static_cast<std::uint32_t>(end));
    }
    std::memset(to, 0, static_cast<std::size_t>(args_.out.data() + at.bodies - to));
  }

  void write_body_directory(const Layout& at) {
    std::byte* to = args_.out.data() + at.body_ends;
    std::memset(to, 0, at.size - at.body_ends);
    std::byte* const modes = args_.out.data() + at.modes;
    std::uint64_t end = 0;
    for (std::uint64_t number = 0; number < tiling_.tiles(); ++number, to += 4) {
      end += tiles_[number].body_size / section_alignment;
      store(to, static_cast<std::uint32_t>(end));
      store(modes + number, tiles_[number].mode);
    }
  }

  // Moves the placed bodies of each group to where they belong. Groups keep their order, so moving
  // those that go down from the first to the last, then those that go up from the last to the
  // first, never writes over one that is still to be moved.
  void move_placed() {
    const auto move = [this](std::uint64_t number, bool down) {
      const Group& group = groups_[number];
      const std::uint64_t from = nominal_places_.begin(first_tile(number));
      if (group.placed_size != 0 && from != group.bodies_begin &&
          (group.bodies_begin < from) == down) {
        std::memmove(bodies_ + group.bodies_begin, bodies_ + from, group.placed_size);
      }
    };
    for (std::uint64_t number = 0; number < plan_.groups; ++number) move(number, true);
    for (std::uint64_t number = plan_.groups; number-- > 0;) move(number, false);
  }

  void copy_staged(std::uint64_t group_number, std::byte* heaps) {
    const Group& group = groups_[group_number];
    const Staging from = staging(group_number);
    std::memcpy(heaps + group.heap_begin, from.heap, group.heap_size);
    std::byte* body = bodies_ + group.bodies_begin + group.placed_size;
    const std::byte* staged = from.bodies_end;
    for (std::uint64_t number = first_tile(group_number) + group.placed_tiles;
         number < first_tile(group_number + 1); ++number) {
      const std::size_t size = tiles_[number].body_size;
      staged -= size;
      std::memcpy(body, staged, size);
      body += size;
    }
  }

  const TileCoder& coder_;
  const EncodeArgs& args_;
  const Tiling& tiling_;
  const ScratchPlan& plan_;
  DType dtype_;
  BodyPlaces raw_places_;
  BodyPlaces nominal_places_;  // by the guess
  bool has_guess_{};
  TileMode guess_{};
  std::byte* bodies_;
  std::byte* scratch_;
  CodedTile* tiles_;
  Group* groups_;
};

ScratchPlan plan_of(const TileCoder& coder, const TensorDesc& desc, const Tiling& tiling,
                    std::size_t workers) {
  OFFRAMP_EXPECTS(desc.checked_size(), "the shape is not sound");
  const auto raw = total_raw_size(desc, tiling);
  OFFRAMP_EXPECTS(raw, "a chunk is larger than 64 GiB: cut it into parts");
  return {coder, desc.dtype, tiling.tiles(), *raw, workers};
}

}  // namespace

std::size_t encode_scratch_size(const TileCoder& coder, const TensorDesc& desc,
                                std::size_t workers) {
  const Tiling tiling(desc.shape);
  return tiling.tiles() == 0 ? 0 : plan_of(coder, desc, tiling, workers).size;
}

std::size_t encode_chunk(const TileCoder& coder, const EncodeArgs& args) {
  const Tiling tiling(args.in.desc.shape);
  if (tiling.tiles() == 0) {
    const std::size_t size = Layout::of({}).size;
    std::memset(args.out.data(), 0, size);
    write_header({}, args.out.data());
    return size;
  }
  const ScratchPlan plan = plan_of(coder, args.in.desc, tiling, args.workers->size());
  return ChunkEncoder(coder, args, tiling, plan).encode();
}

}  // namespace offramp::tiles
