// SPDX-License-Identifier: Apache-2.0
#include "codec/exact_dense/dense_tile.hpp"
#include "codec/exact_dense/float_words.hpp"
#include "core/bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace offramp::exact_dense {
namespace {

using tiles::CodedTile;
using tiles::TileMode;

constexpr std::size_t cache_line = 64;
/// Tiles of fewer values are always tried with the exact code too.
constexpr std::uint32_t few_values = 2048;

std::size_t raw_size(DType dtype, TileExtent extent) {
  return round_up(extent.values * size_of(dtype), tiles::section_alignment);
}

/// A call's scratch: the workspace, two tiles of values and a second attempt.
struct Scratch {
  Workspace* workspace;
  std::byte* inner;
  std::byte* gathered;
  std::byte* other_body;
  std::byte* other_heap;
  std::byte* exact;

  static std::size_t inner_size(DType dtype) {
    return round_up(tiles::tile_values * size_of(dtype) + tiles::read_slack, cache_line);
  }
  static std::size_t body_size(DType dtype) {
    return round_up(tiles::exact_tile_coder().max_body_size(dtype), cache_line);
  }
  static std::size_t heap_size(DType dtype) {
    return round_up(tiles::exact_tile_coder().max_heap_size(dtype), cache_line);
  }
  static std::size_t size(DType dtype) {
    return sizeof(Workspace) + 2 * inner_size(dtype) + body_size(dtype) + heap_size(dtype) +
           tiles::exact_tile_coder().scratch_size(dtype);
  }

  Scratch(DType dtype, std::byte* at)
      : workspace(reinterpret_cast<Workspace*>(at)),
        inner(at + sizeof(Workspace)),
        gathered(inner + inner_size(dtype)),
        other_body(gathered + inner_size(dtype)),
        other_heap(other_body + body_size(dtype)),
        exact(other_heap + heap_size(dtype)) {}
};
static_assert(sizeof(Workspace) % cache_line == 0);

/// What the facts say of a tile before it is coded.
struct Judgement {
  TileMode mode;  ///< 16 to 18, or raw_mode: the exact code only
  unsigned rest_bits;
  bool is_ordinary;  ///< the exact code has nothing to win
};

Judgement judge(DType dtype, TileExtent extent, const ValueFacts& facts) {
  const unsigned mantissa = mantissa_bits(dtype);
  if (mantissa == 0 || !facts.exponents_fit || facts.all_or == facts.all_and) {
    return {tiles::raw_mode, 0, false};
  }
  const std::uint64_t rest_mask = (std::uint64_t{1} << (mantissa - 1)) - 1;
  const std::uint64_t used = facts.all_or & rest_mask;
  const unsigned trimmed = used == 0 ? mantissa - 1 : static_cast<unsigned>(std::countr_zero(used));
  Judgement judgement{plain_mode, mantissa - 1 - trimmed, false};
  if (std::uint64_t{15} * facts.zeros > extent.values) {
    judgement.mode = sparse_mode;
  } else if (trimmed > 0) {
    judgement.mode = trimmed_mode;
  } else {
    judgement.is_ordinary =
        extent.values >= few_values && ((facts.all_or ^ facts.all_and) & rest_mask) == rest_mask;
  }
  return judgement;
}

std::size_t max_body_size(DType dtype) {
  return std::max(tiles::exact_tile_coder().max_body_size(dtype),
                  tiles::tile_values * size_of(dtype));
}

std::size_t max_heap_size(DType dtype) {
  return std::max(tiles::exact_tile_coder().max_heap_size(dtype),
                  tiles::tile_values * size_of(dtype));
}

std::size_t nominal_body_size(DType dtype, TileExtent extent, TileMode mode) {
  if (mode < plain_mode) return tiles::exact_tile_coder().nominal_body_size(dtype, extent, mode);
  if (mode != plain_mode || mantissa_bits(dtype) == 0) return 0;
  return rest_body_size(extent, rest_shape(mantissa_bits(dtype) - 1));
}

TileMode usual_mode(DType dtype) {
  return mantissa_bits(dtype) > 0 ? plain_mode : tiles::exact_tile_coder().usual_mode(dtype);
}

CodedTile encode(DType dtype, TileExtent extent, tiles::ConstLines values, std::byte* body,
                 std::byte* heap, std::byte* scratch) {
  return encode_tile(kernels(), dtype, extent, values, body, heap, scratch);
}

bool decode(DType dtype, TileExtent extent, TileMode mode, std::span<const std::byte> body,
            std::span<const std::byte> heap, tiles::Lines values, std::byte* scratch) {
  return decode_tile(kernels(), dtype, extent, mode, body, heap, values, scratch);
}

}  // namespace

CodedTile encode_tile(const Kernels& kernels, DType dtype, TileExtent extent,
                      tiles::ConstLines values, std::byte* body, std::byte* heap,
                      std::byte* scratch_bytes) {
  const tiles::TileCoder& exact = tiles::exact_tile_coder();
  const Scratch scratch(dtype, scratch_bytes);
  const std::size_t raw = raw_size(dtype, extent);
  ValueFacts facts;
  const std::byte* floats = values.first;
  if (mantissa_bits(dtype) > 0) {
    facts = find_facts(dtype, values, extent.values, scratch.gathered);
    if (values.has_gaps(size_of(dtype))) floats = scratch.gathered;
  }
  const Judgement judgement = judge(dtype, extent, facts);

  std::optional<Sizes> dense;
  if (judgement.mode == sparse_mode) {
    dense = encode_sparse(kernels, dtype, extent, judgement.rest_bits, floats, raw, body, heap,
                          scratch.inner, *scratch.workspace);
  } else if (judgement.mode != tiles::raw_mode) {
    dense = encode_plain(kernels, dtype, extent, judgement.rest_bits, floats, raw, body, heap,
                         *scratch.workspace);
  }
  if (!dense) return exact.encode(dtype, extent, values, body, heap, scratch.exact);

  const CodedTile coded{judgement.mode, static_cast<std::uint32_t>(dense->body),
                        static_cast<std::uint32_t>(dense->heap)};
  if (judgement.is_ordinary && 16 * dense->sum() < 15 * raw) return coded;
  const CodedTile other =
      exact.encode(dtype, extent, values, scratch.other_body, scratch.other_heap, scratch.exact);
  if (std::size_t{other.body_size} + other.heap_size > dense->sum()) return coded;
  std::memcpy(body, scratch.other_body, other.body_size);
  std::memcpy(heap, scratch.other_heap, other.heap_size);
  return other;
}

bool decode_tile(const Kernels& kernels, DType dtype, TileExtent extent, TileMode mode,
                 std::span<const std::byte> body, std::span<const std::byte> heap,
                 tiles::Lines values, std::byte* scratch_bytes) {
  if (!tiles::is_sound(extent)) return false;
  const Scratch scratch(dtype, scratch_bytes);
  if (mode < plain_mode) {
    return tiles::exact_tile_coder().decode(dtype, extent, mode, body, heap, values, scratch.exact);
  }
  if (mantissa_bits(dtype) == 0) return false;
  switch (mode) {
    case plain_mode:
    case trimmed_mode:
      return decode_plain(kernels, dtype, extent, mode, body, heap, values, *scratch.workspace);
    case sparse_mode:
      return decode_sparse(kernels, dtype, extent, body, heap, values, scratch.inner,
                           *scratch.workspace);
    default:
      return false;
  }
}

}  // namespace offramp::exact_dense

namespace offramp::tiles {

const TileCoder& exact_dense_tile_coder() noexcept {
  namespace dense = exact_dense;
  static constexpr TileCoder coder{dense::max_body_size,
                                   dense::max_heap_size,
                                   [](DType dtype) { return dense::Scratch::size(dtype); },
                                   dense::nominal_body_size,
                                   dense::usual_mode,
                                   dense::encode,
                                   dense::decode};
  return coder;
}

}  // namespace offramp::tiles
