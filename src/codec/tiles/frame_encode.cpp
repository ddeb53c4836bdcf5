// SPDX-License-Identifier: Apache-2.0
//
// Bodies go where they belong at once: every tile is taken to get the mode that ordinary data gets,
// which makes the place of each body known. Heap pieces are staged in scratch and copied behind the
// bodies when their sizes are known. A run of tiles, one worker's piece of work, keeps to this
// until a tile differs; from there on its bodies are staged too. The result depends on neither the
// runs nor the guess.
#include "codec/tiles/frame.hpp"
#include "codec/tiles/rows.hpp"
#include "codec/tiles/tile_runs.hpp"
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::tiles {
namespace {

// So much that was staged is copied by one thread in less time than it takes to share it out.
constexpr std::uint64_t few_staged_bytes = 64u << 10;

// What is kept of a run until the end.
struct Run {
  std::uint64_t bodies_size{};
  std::uint64_t heap_size{};
  std::uint64_t placed_size{};  // of the bodies that stand at their nominal place
  std::uint64_t placed_tiles{};
  bool is_uniform{true};         // one mode, nominal sizes
  std::uint64_t bodies_begin{};  // where they belong, set at the end
  std::uint64_t heap_begin{};
};

// How the encode scratch is cut: queue | workers | tiles | runs | staging of each run. What workers
// use for every tile stands where it stood for the chunk before, whatever that one's size: in
// cache.
struct ScratchPlan {
  TileRuns runs;
  std::size_t body_size{};   // for one body, wherever it goes in the end
  std::size_t heap_slack{};  // behind the staging of a run: a heap piece may be written there
  std::size_t coder_size{};
  std::size_t values_size{};  // a gathered tile
  std::size_t worker_size{};
  std::size_t workers_at{};
  std::size_t tiles_at{};
  std::size_t runs_at{};
  std::size_t staging_at{};
  std::size_t size{};

  ScratchPlan(const TileCoder& coder, DType dtype, std::uint64_t tiles, std::uint64_t raw_size,
              std::size_t workers)
      : runs(tiles, workers) {
    const auto piece = [](std::size_t bytes) { return round_up(bytes, scratch_alignment); };
    body_size = piece(coder.max_body_size(dtype));
    heap_slack = coder.max_heap_size(dtype);
    coder_size = piece(coder.scratch_size(dtype));
    values_size = piece(tile_values * size_of(dtype) + read_slack);
    worker_size = coder_size + values_size + body_size;
    workers_at = piece(RunQueue::scratch_size(workers));
    tiles_at = workers_at + workers * worker_size;
    runs_at = tiles_at + piece(tiles * sizeof(CodedTile));
    staging_at = runs_at + piece(runs.count() * sizeof(Run));
    size = staging_at + raw_size + runs.count() * heap_slack + scratch_alignment - 1;
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
        guess_(coder.usual_mode(dtype_)),
        raw_places_(tiling, [this](TileExtent extent) { return raw_size(dtype_, extent); }),
        nominal_places_(tiling,
                        [this](TileExtent extent) {
                          const std::size_t size = coder_.nominal_body_size(dtype_, extent, guess_);
                          has_guess_ = has_guess_ && size != 0;
                          return size;
                        }),
        bodies_(args.out.data() +
                Layout::of({.tiles = static_cast<std::uint32_t>(tiling.tiles())}).bodies),
        scratch_(align_scratch(args.scratch.data())),
        tiles_(reinterpret_cast<CodedTile*>(scratch_ + plan.tiles_at)),
        runs_(reinterpret_cast<Run*>(scratch_ + plan.runs_at)) {
    // Bodies that were larger than the values could be placed beyond the room for them.
    const std::uint64_t tiles = tiling.tiles();
    has_guess_ = has_guess_ && nominal_places_.begin(tiles) <= raw_places_.begin(tiles);
  }

  std::size_t encode() {
    RunQueue(plan_.runs, scratch_)
        .for_each(*args_.workers,
                  [this](std::uint64_t run, std::size_t worker) { encode_run(run, worker); });
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

  [[nodiscard]] std::uint64_t first_tile(std::uint64_t run) const noexcept {
    return plan_.runs.begin(run);
  }
  [[nodiscard]] Staging staging(std::uint64_t run) const noexcept {
    std::byte* const begin = scratch_ + plan_.staging_at + run * plan_.heap_slack;
    return {.heap = begin + raw_places_.begin(first_tile(run)),
            .bodies_end = begin + raw_places_.begin(first_tile(run + 1)) + plan_.heap_slack};
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

  CodedTile encode_tile(const Tile& tile, std::byte* body, std::byte* heap, std::byte* own) const {
    const ConstLines values = values_of(tile, own + plan_.coder_size);
    const CodedTile coded = coder_.encode(dtype_, tile.extent, values, body, heap, own);
    OFFRAMP_EXPECTS(std::size_t{coded.body_size} + coded.heap_size <= raw_size(dtype_, tile.extent),
                    "a tile code made a tile larger than its values");
    return coded;
  }

  // Takes in a body that was coded to `body`, and the tile's sizes.
  void keep_body(std::uint64_t number, std::uint64_t run_number, TileExtent extent,
                 const std::byte* body) {
    const CodedTile& coded = tiles_[number];
    Run& run = runs_[run_number];
    const std::uint64_t first = first_tile(run_number);
    const bool is_nominal = coded.body_size != 0 &&
                            coded.body_size == coder_.nominal_body_size(dtype_, extent, coded.mode);
    run.is_uniform = run.is_uniform && is_nominal && coded.mode == tiles_[first].mode;
    if (has_guess_ && run.is_uniform && coded.mode == guess_) {
      std::byte* const place = bodies_ + nominal_places_.begin(number);
      if (body != place) std::memcpy(place, body, coded.body_size);
      ++run.placed_tiles;
      run.placed_size += coded.body_size;
    } else {
      const std::uint64_t staged = run.bodies_size - run.placed_size + coded.body_size;
      std::memcpy(staging(run_number).bodies_end - staged, body, coded.body_size);
    }
    run.bodies_size += coded.body_size;
    run.heap_size += coded.heap_size;
  }

  void encode_run(std::uint64_t run_number, std::size_t worker) {
    Run& run = runs_[run_number] = {};
    const std::uint64_t first = first_tile(run_number);
    const std::uint64_t end = first_tile(run_number + 1);
    std::byte* const own = worker_scratch(worker);
    std::byte* const spare = own + plan_.coder_size + plan_.values_size;
    std::byte* const heap = staging(run_number).heap;
    const std::uint64_t room_end = nominal_places_.begin(end);
    for (std::uint64_t number = first; number < end; ++number) {
      // What a coder writes behind a body must hit nothing but places of later tiles of the run.
      const bool in_order = number == first + run.placed_tiles;
      const std::uint64_t place = nominal_places_.begin(number);
      const bool direct = has_guess_ && in_order && place + plan_.body_size <= room_end;
      std::byte* const body = direct ? bodies_ + place : spare;
      const Tile tile = tiling_.tile(number);
      tiles_[number] = encode_tile(tile, body, heap + run.heap_size, own);
      keep_body(number, run_number, tile.extent, body);
    }
  }

  std::size_t finish() {
    const std::uint64_t tiles = tiling_.tiles();
    const std::uint64_t runs = plan_.runs.count();
    Header header{
        .tiles = static_cast<std::uint32_t>(tiles), .uniform = true, .mode = tiles_[0].mode};
    std::uint64_t placed_tiles = 0;
    std::uint64_t placed_size = 0;
    for (std::uint64_t i = 0; i < runs; ++i) {
      Run& run = runs_[i];
      run.bodies_begin = header.bodies_size;
      run.heap_begin = header.heap_size;
      header.bodies_size += run.bodies_size;
      header.heap_size += run.heap_size;
      const bool is_alike =
          run.bodies_size == 0 || (run.is_uniform && tiles_[first_tile(i)].mode == header.mode);
      header.uniform = header.uniform && is_alike;
      placed_tiles += run.placed_tiles;
      placed_size += run.placed_size;
    }
    const Layout at = Layout::of(header);
    write_header(header, args_.out.data());
    write_heap_directory(at);
    if (placed_tiles != tiles) move_placed();
    const auto copy = [&](std::uint64_t run, std::size_t) {
      copy_staged(run, args_.out.data() + at.heap);
    };
    if (header.heap_size + header.bodies_size - placed_size <= few_staged_bytes) {
      for (std::uint64_t i = 0; i < runs; ++i) copy(i, 0);
    } else {
      RunQueue(plan_.runs, scratch_).for_each(*args_.workers, copy);
    }
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

  // Moves the placed bodies of each run to where they belong. Runs keep their order, so moving
  // those that go down from the first to the last, then those that go up from the last to the
  // first, never writes over one that is still to be moved.
  void move_placed() {
    const auto move = [this](std::uint64_t number, bool down) {
      const Run& run = runs_[number];
      const std::uint64_t from = nominal_places_.begin(first_tile(number));
      if (run.placed_size != 0 && from != run.bodies_begin && (run.bodies_begin < from) == down) {
        std::memmove(bodies_ + run.bodies_begin, bodies_ + from, run.placed_size);
      }
    };
    const std::uint64_t runs = plan_.runs.count();
    for (std::uint64_t number = 0; number < runs; ++number) move(number, true);
    for (std::uint64_t number = runs; number-- > 0;) move(number, false);
  }

  void copy_staged(std::uint64_t run_number, std::byte* heaps) {
    const Run& run = runs_[run_number];
    const Staging from = staging(run_number);
    std::memcpy(heaps + run.heap_begin, from.heap, run.heap_size);
    std::byte* body = bodies_ + run.bodies_begin + run.placed_size;
    const std::byte* staged = from.bodies_end;
    for (std::uint64_t number = first_tile(run_number) + run.placed_tiles;
         number < first_tile(run_number + 1); ++number) {
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
  TileMode guess_;
  bool has_guess_{true};  // before nominal_places_, whose constructor clears it
  BodyPlaces raw_places_;
  BodyPlaces nominal_places_;  // by the guess
  std::byte* bodies_;
  std::byte* scratch_;
  CodedTile* tiles_;
  Run* runs_;
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
