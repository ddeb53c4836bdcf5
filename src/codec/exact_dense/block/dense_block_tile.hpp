// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block_tile.hpp"
#include "codec/exact_dense/block/dense_block_decode.hpp"
#include "codec/exact_dense/block/dense_block_encode.hpp"
#include "codec/exact_dense/block/dense_block_sparse.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// One tile of `exact-dense` by one block of threads: any dtype, extent, pitch and mode, the same
// bytes as the host's tile code. It is the general path, for what has no faster one.

namespace offramp::exact_dense::block {

using tiles::CodedTile;
using tiles::TileMode;

/// What a block needs of shared memory, beside what its `Block` does.
struct DenseShared {
  Side side;
  union {
    ChoiceShared choice;
    StreamShared stream;
  };
};

/// Memory of one block, for one call, and what is the same for all calls.
struct DenseScratch {
  std::byte* memory{};  ///< `dense_scratch_size` bytes at a multiple of 64
  DenseShared* shared{};
  exact::block::BlockShared* exact{};
  Tables tables{};
};

/// The scratch cut up.
struct DenseWork {
  std::uint16_t* words{};
  std::uint8_t* subtails{};
  LaneOutput* out{};
  std::byte* inner{};       ///< values of a sparse tile
  std::byte* other_body{};  ///< the exact code's, where both are tried
  std::byte* other_heap{};
  std::byte* exact{};

  [[nodiscard]] static constexpr std::size_t tile_size(DType dtype) {
    return tiles::tile_values * size_of(dtype);
  }
  [[nodiscard]] static constexpr std::size_t size(DType dtype) {
    return tiles::tile_values * 3 + round_up(sizeof(LaneOutput), 64) + 3 * tile_size(dtype) +
           exact::block::block_scratch_size(dtype);
  }
  OFFRAMP_DEVICE DenseWork(DType dtype, std::byte* memory)
      : words(reinterpret_cast<std::uint16_t*>(memory)),
        subtails(reinterpret_cast<std::uint8_t*>(memory + tiles::tile_values * 2)),
        out(reinterpret_cast<LaneOutput*>(memory + tiles::tile_values * 3)),
        inner(memory + tiles::tile_values * 3 + round_up(sizeof(LaneOutput), 64)),
        other_body(inner + tile_size(dtype)),
        other_heap(other_body + tile_size(dtype)),
        exact(other_heap + tile_size(dtype)) {}
};

[[nodiscard]] constexpr std::size_t dense_scratch_size(DType dtype) {
  return DenseWork::size(dtype);
}

/// What the facts say of a tile before it is coded.
struct Judgement {
  TileMode mode{tiles::raw_mode};  ///< 16 to 18, or raw: the exact code only
  unsigned rest_bits{};
  bool is_ordinary{};  ///< the exact code has nothing to win
};

/// Tiles of fewer values are always tried with the exact code too.
inline constexpr std::uint32_t few_values = 2048;

[[nodiscard]] constexpr Judgement judge(const FloatFormat& format, TileExtent extent,
                                        const Facts& facts) {
  if (facts.misfits != 0 || facts.any == facts.all) return {};
  const unsigned full = format.mantissa - 1;
  const std::uint64_t mask = (std::uint64_t{1} << full) - 1;
  const std::uint64_t used = facts.any & mask;
  const unsigned trimmed = used == 0 ? full : lowest_one(used);
  if (std::uint64_t{15} * facts.zeros > extent.values) return {sparse_mode, full - trimmed, false};
  if (trimmed > 0) return {trimmed_mode, full - trimmed, false};
  return {plain_mode, full,
          extent.values >= few_values && ((facts.any ^ facts.all) & mask) == mask};
}

/// Float values as modes 16 and 17 code them: everything but what is written.
struct PlainPlan {
  ValueRows values{};
  TileExtent extent{};
  TailCut cut{};
  unsigned rest_bits{};
  SideHead head{};
  std::uint32_t words{};
  std::uint32_t rest_count{};  ///< words of a lane
  std::uint32_t body_size{};
  std::uint32_t heap_size{};

  [[nodiscard]] constexpr std::uint32_t total() const { return body_size + heap_size; }
};

template <class B>
OFFRAMP_DEVICE PlainPlan plan_plain(B& block, const FloatFormat& format, const ValueRows& values,
                                    TileExtent extent, unsigned rest_bits,
                                    const DenseScratch& scratch, const DenseWork& work) {
  PlainPlan plan{.values = values,
                 .extent = extent,
                 .cut = TailCut::of(format, rest_bits),
                 .rest_bits = rest_bits};
  DenseShared& shared = *scratch.shared;
  const RestShape shape = plan.cut.shape;
  const std::uint32_t lanes = lanes_of(extent);
  split_words(block, format, plan.cut, values, extent, work.words, work.subtails);
  const std::uint8_t form =
      choose_side(block, *scratch.tables.costs, work.words, extent, shared.choice, shared.side);
  plan.head = head_of(block, form, shared.side, extent.width);
  const std::uint32_t n = plan.rest_count = rest_words(extent.rows, shape);
  block.for_each(lanes, [&](std::uint32_t l) {
    const auto word = [&](std::uint32_t i) {
      return make_rest_word(work.words, work.subtails, extent.rows, shape, i, l);
    };
    shared.stream.ends.first_state[l] = n < 2 ? 0 : word(n - 2) & 255;
    shared.stream.ends.first_buffer[l] = n < 2 ? 0 : word(n - 1);
  });
  plan.words = encode_lanes(block, scratch.tables, work.words, extent, shared.side, shared.stream,
                            *work.out);
  plan.body_size = static_cast<std::uint32_t>(rest_body_size(extent, shape));
  plan.heap_size =
      heap_piece_size(extent, plan.head.form, plan.words, heads_bits(shared.stream.ends, lanes));
  return plan;
}

/// Writes what was planned last.
template <class B>
OFFRAMP_DEVICE void write_plain(B& block, const PlainPlan& plan, const DenseScratch& scratch,
                                const DenseWork& work, std::uint8_t* body, std::uint8_t* heap) {
  const DenseShared& shared = *scratch.shared;
  const TileExtent extent = plan.extent;
  const RestShape shape = plan.cut.shape;
  const std::uint32_t lanes = lanes_of(extent), n = plan.rest_count;
  write_heap(block, plan.head, shared.side, extent, plan.rest_bits, plan.words, shared.stream,
             *work.out, heap);
  const auto rest_word = [&](std::uint32_t i, std::uint32_t l) {
    return make_rest_word(work.words, work.subtails, extent.rows, shape, i, l);
  };
  const std::uint32_t whole = n < 2 ? n : n - 2;
  block.for_each(whole * lanes, [&](std::uint32_t i) {
    store_aligned(body + std::size_t{4} * i, rest_word(i / lanes, i % lanes));
  });
  std::uint32_t at = 4 * whole * lanes;
  if (n >= 2) {
    std::uint8_t* const split = body + at;
    block.for_each(lanes, [&](std::uint32_t l) {
      const std::uint32_t word = rest_word(n - 2, l);
      store_aligned(split + std::size_t{2} * l, static_cast<std::uint16_t>(word >> 16));
      split[2 * lanes + l] = static_cast<std::uint8_t>(word >> 8);
    });
    exact::block::zero(block, split, 3 * lanes, div_up(3 * lanes, 4) * 4);
    at += div_up(3 * lanes, 4) * 4;
  }
  const exact::block::RowDivider divider(extent.width);
  for (unsigned j = 0; j < shape.tail_bytes; ++j) {
    std::uint8_t* const tail = body + at + std::size_t{j} * extent.values;
    block.for_each(extent.values, [&](std::uint32_t k) {
      tail[k] = plan.cut.tail_byte(plan.values.get(divider.row(k), divider.column(k)), j);
    });
  }
  exact::block::zero(block, body, at + shape.tail_bytes * extent.values, plan.body_size);
}

/// Codes the tile whose rows stand `row_pitch` elements apart at `values`, which may have any
/// address. `body` and `heap` get exactly the bytes that the result says, together no more than
/// raw.
template <class B>
OFFRAMP_DEVICE CodedTile encode_tile(B& block, DType dtype, TileExtent extent,
                                     const std::byte* values, std::uint64_t row_pitch,
                                     std::byte* body, std::byte* heap,
                                     const DenseScratch& scratch) {
  const DenseWork work(dtype, scratch.memory);
  const FloatFormat format = FloatFormat::of(dtype);
  const ValueRows rows{const_cast<std::byte*>(values), row_pitch, size_of(dtype)};  // only read
  const auto raw = static_cast<std::uint32_t>(
      round_up(extent.values * size_of(dtype), tiles::section_alignment));
  const auto encode_exact = [&](std::byte* to_body, std::byte* to_heap) {
    return exact::block::encode_tile(block, dtype, extent, values, row_pitch, to_body, to_heap,
                                     {work.exact, scratch.exact});
  };
  Facts facts;
  Judgement judgement;
  if (format.is_float()) {
    facts = take_facts(block, format, rows, extent);
    judgement = judge(format, extent, facts);
  }
  if (judgement.mode == tiles::raw_mode) return encode_exact(body, heap);

  const bool is_sparse = judgement.mode == sparse_mode;
  const std::uint32_t kept = extent.values - facts.zeros;
  const std::uint32_t front = is_sparse ? bitmap_room(extent) : 0;
  PlainPlan plan;
  if (is_sparse) {
    const ValueRows inner{work.inner, pitch, size_of(dtype)};
    compact(block, rows, extent, kept, inner);
    plan = plan_plain(block, format, inner, {div_up(kept, pitch), pitch, kept}, judgement.rest_bits,
                      scratch, work);
  } else {
    plan = plan_plain(block, format, rows, extent, judgement.rest_bits, scratch, work);
  }
  const std::uint32_t total = front + plan.total();
  if (total >= raw) return encode_exact(body, heap);
  if (!judgement.is_ordinary || 16 * std::uint64_t{total} >= 15 * std::uint64_t{raw}) {
    const CodedTile other = encode_exact(work.other_body, work.other_heap);
    if (other.body_size + other.heap_size <= total) {
      block.for_each(other.body_size / 4, [&](std::uint32_t i) {
        store_aligned(body + std::size_t{4} * i,
                      load_aligned<std::uint32_t>(work.other_body + std::size_t{4} * i));
      });
      block.for_each(other.heap_size / 4, [&](std::uint32_t i) {
        store_aligned(heap + std::size_t{4} * i,
                      load_aligned<std::uint32_t>(work.other_heap + std::size_t{4} * i));
      });
      return other;
    }
  }
  auto* const to = reinterpret_cast<std::uint8_t*>(body);
  if (is_sparse) write_bitmap(block, rows, extent, to);
  write_plain(block, plan, scratch, work, to + front, reinterpret_cast<std::uint8_t*>(heap));
  return {.mode = judgement.mode, .body_size = front + plan.body_size, .heap_size = plan.heap_size};
}

/// What decoding left hidden, and the body: the tile's rest words.
struct RestReader {
  const std::uint8_t* body{};
  const LaneEnds& ends;
  std::uint32_t count{};  ///< of a lane
  std::uint32_t lanes{};

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t word(std::uint32_t i, std::uint32_t lane) const {
    if (count < 2 || i + 2 < count) {
      return load_aligned<std::uint32_t>(body + std::size_t{4} * (i * lanes + lane));
    }
    if (i + 1 == count) return ends.first_buffer[lane];
    const std::uint8_t* const split = body + std::size_t{4} * (count - 2) * lanes;
    return std::uint32_t{load_aligned<std::uint16_t>(split + std::size_t{2} * lane)} << 16 |
           std::uint32_t{split[2 * lanes + lane]} << 8 | ends.first_state[lane];
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t size() const {
    return count < 2 ? 4 * count * lanes : 4 * (count - 2) * lanes + div_up(3 * lanes, 4) * 4;
  }
};

/// Modes 16 and 17, the latter within 18 too.
template <class B>
OFFRAMP_DEVICE bool decode_plain(B& block, const FloatFormat& format, TileExtent extent,
                                 bool may_trim, const Untrusted& body, const Untrusted& heap,
                                 const ValueRows& values, const DenseScratch& scratch,
                                 const DenseWork& work) {
  DenseShared& shared = *scratch.shared;
  const HeapParts parts = find_parts(extent, heap);
  const unsigned full = format.mantissa - 1;
  if (!parts.is_sound || parts.rest_bits > full || (!may_trim && parts.rest_bits != full)) {
    return false;
  }
  const TailCut cut = TailCut::of(format, parts.rest_bits);
  const RestShape shape = cut.shape;
  if (body.size != rest_body_size(extent, shape)) return false;
  if (!read_heap(block, extent, parts, heap, shared.side, shared.stream)) return false;
  if (!decode_lanes(block, *scratch.tables.decode, extent, shared.side, heap.data + parts.stream,
                    parts.words, shared.stream, work.words)) {
    return false;
  }
  const std::uint32_t lanes = lanes_of(extent);
  const RestReader rest{body.data, shared.stream.ends, rest_words(extent.rows, shape), lanes};
  const LaneEnds& ends = shared.stream.ends;
  const bool is_hidden = all_of(block, lanes, [&](std::uint32_t l) {
    return ends.first_state[l] < 256 &&
           (rest.count >= 2 || (ends.first_state[l] | ends.first_buffer[l]) == 0);
  });
  if (!is_hidden) return false;
  const std::uint32_t tails = rest.size();
  if (rest.count >= 2 &&
      !exact::block::is_padding(body.data, 4 * (rest.count - 2) * lanes + 3 * lanes, tails)) {
    return false;
  }
  if (!exact::block::is_padding(body.data, tails + shape.tail_bytes * extent.values, body.size)) {
    return false;
  }

  // The pieces go to the words' low bits and to the subtails. Those of no value must be 0.
  block.for_each(extent.rows * pitch, [&](std::uint32_t i) { work.subtails[i] = 0; });
  const bool is_clean = all_of(block, 2 * lanes * extent.rows, [&](std::uint32_t i) {
    const std::uint32_t r = i / (2 * lanes), channel = i % (2 * lanes), at = r * pitch + channel;
    const std::uint32_t chunk = r / chunk_rows, v = 2 * (r % chunk_rows) + channel % 2;
    const std::uint32_t chunk_size = rows_of_chunk(extent.rows, chunk);
    std::uint32_t word =
        chunk * (field_words(chunk_rows, shape.core) + field_words(chunk_rows, shape.subtail));
    std::uint32_t fields[2] = {0, 0};
    for (unsigned field = 0; field < 2; ++field) {
      unsigned left = field == 0 ? shape.core : shape.subtail;
      for (unsigned p = 4; p > 0; p /= 2) {
        if ((left & p) == 0) continue;
        left -= p;
        const std::uint32_t a_word = 32 / p;
        const std::uint32_t piece =
            rest.word(word + v / a_word, channel / 2) >> (8 * (v % 4) + p * (v / 4 % (8 / p)));
        fields[field] |= (piece & ((1u << p) - 1)) << left;
        word += field_words(chunk_size, p);
      }
    }
    if (!has_value(extent, r, channel)) return (fields[0] | fields[1]) == 0;
    work.words[at] |= static_cast<std::uint16_t>(fields[0] << (core_bits - shape.core));
    work.subtails[at] = static_cast<std::uint8_t>(fields[1]);
    return format.has_exponent(work.words[at]);
  });
  if (!is_clean) return false;
  // Pieces of rows behind the last, in the last word of each kind.
  const std::uint32_t last = extent.rows % chunk_rows;
  if (last != 0) {
    const std::uint32_t begin =
        extent.rows / chunk_rows *
        (field_words(chunk_rows, shape.core) + field_words(chunk_rows, shape.subtail));
    const bool is_zero_behind = all_of(block, (rest.count - begin) * lanes, [&](std::uint32_t i) {
      const std::uint32_t k = begin + i / lanes;
      const RestPlace place = RestPlace::of(extent.rows, shape, k);
      std::uint32_t stray = rest.word(k, i % lanes);
      for (std::uint32_t v = 0; v < place.pieces() && place.row(v) < extent.rows; ++v) {
        stray &= ~(((1u << place.bits) - 1) << place.shift(v));
      }
      return stray == 0;
    });
    if (!is_zero_behind) return false;
  }

  const exact::block::RowDivider divider(extent.width);
  block.for_each(extent.values, [&](std::uint32_t k) {
    const std::uint32_t r = divider.row(k), c = divider.column(k), at = r * pitch + c;
    std::uint64_t tail = work.subtails[at];
    for (unsigned j = shape.tail_bytes; j-- > 0;) {
      tail = tail << 8 | body.data[tails + std::size_t{j} * extent.values + k];
    }
    values.set(r, c, format.value(work.words[at], tail << cut.dropped));
  });
  return true;
}

/// Restores the tile's values to rows `row_pitch` elements apart at `values`, any address, and
/// writes nothing else. False where body and heap, which may hold anything, are no tile of that
/// mode and extent: the host's tile code refuses the same.
template <class B>
OFFRAMP_DEVICE bool decode_tile(B& block, DType dtype, TileExtent extent, TileMode mode,
                                std::span<const std::byte> body, std::span<const std::byte> heap,
                                std::byte* values, std::uint64_t row_pitch,
                                const DenseScratch& scratch) {
  const DenseWork work(dtype, scratch.memory);
  if (mode < plain_mode) {
    return exact::block::decode_tile(block, dtype, extent, mode, body, heap, values, row_pitch,
                                     {work.exact, scratch.exact});
  }
  const FloatFormat format = FloatFormat::of(dtype);
  if (!format.is_float() || mode > sparse_mode || !exact::block::is_sound(extent) ||
      body.size() > exact::block::max_section || heap.size() > exact::block::max_section) {
    return false;
  }
  const Untrusted coded_body{reinterpret_cast<const std::uint8_t*>(body.data()),
                             static_cast<std::uint32_t>(body.size())};
  const Untrusted coded_heap{reinterpret_cast<const std::uint8_t*>(heap.data()),
                             static_cast<std::uint32_t>(heap.size())};
  const ValueRows rows{values, row_pitch, size_of(dtype)};
  if (mode != sparse_mode) {
    return decode_plain(block, format, extent, mode == trimmed_mode, coded_body, coded_heap, rows,
                        scratch, work);
  }
  const std::uint32_t front = bitmap_room(extent);
  if (coded_body.size < front) return false;
  const std::uint32_t count = count_kept(block, extent, coded_body.data);
  if (count == 0) return false;
  const ValueRows inner{work.inner, pitch, size_of(dtype)};
  const Untrusted inner_body{coded_body.data + front, coded_body.size - front};
  return decode_plain(block, format, {div_up(count, pitch), pitch, count}, true, inner_body,
                      coded_heap, inner, scratch, work) &&
         expand(block, coded_body.data, inner, extent, count, rows);
}

}  // namespace offramp::exact_dense::block
