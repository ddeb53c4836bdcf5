// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_stream.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense::block {

/// Words that the lanes put out, before they are put in order: word k of lane l at [k][l], and at
/// which opportunity.
struct LaneOutput {
  std::uint32_t word[max_lane_words][max_lanes];
  std::uint16_t emit[max_lane_words][max_lanes];
};

/// One lane's end of the stream: it depends on no other lane, only the words' order does.
template <class B>
class LaneWriter {
 public:
  OFFRAMP_DEVICE LaneWriter(B& block, StreamShared& shared, LaneOutput& out, std::uint32_t lane)
      : block_(block),
        shared_(shared),
        out_(out),
        lane_(lane),
        buffer_(shared.ends.first_buffer[lane]) {}

  OFFRAMP_DEVICE void push(std::uint32_t value, std::uint32_t size) {
    bits_ |= std::uint64_t{value} << count_;
    count_ += size;
  }
  /// An opportunity to put out a word.
  OFFRAMP_DEVICE void emit() {
    if (count_ >= 32) {
      out_.word[words_][lane_] = buffer_;
      out_.emit[words_][lane_] = static_cast<std::uint16_t>(emit_);
      block_.add(shared_.emitting[emit_], 1u << lane_);
      ++words_;
      buffer_ = static_cast<std::uint32_t>(bits_);
      bits_ >>= 32;
      count_ -= 32;
    }
    ++emit_;
  }
  OFFRAMP_DEVICE void finish() {
    LaneEnds& ends = shared_.ends;
    ends.head[lane_] = static_cast<std::uint32_t>(bits_);
    ends.head_bits[lane_] = count_;
    ends.buffer[lane_] = buffer_;
    shared_.lane_words[lane_] = words_;
  }

 private:
  B& block_;
  StreamShared& shared_;
  LaneOutput& out_;
  std::uint32_t lane_;
  std::uint64_t bits_{};
  std::uint32_t count_{};
  std::uint32_t buffer_;
  std::uint32_t words_{};
  std::uint32_t emit_{};
};

template <class B>
OFFRAMP_DEVICE void encode_lane(B& block, const Tables& tables, const std::uint16_t* words,
                                TileExtent extent, const Side& side, StreamShared& shared,
                                LaneOutput& out, std::uint32_t lane) {
  LaneWriter<B> writer(block, shared, out, lane);
  std::uint32_t state = shared.ends.first_state[lane];
  for (std::uint32_t g = chunks_of(extent.rows); g-- > 0;) {
    const std::uint32_t first = g * chunk_rows, rows = rows_of_chunk(extent.rows, g);
    for (std::uint32_t r = first + rows; r-- > first;) {
      for (std::uint32_t h = 2; h-- > 0;) {
        const std::uint32_t channel = 2 * lane + h;
        if (!has_value(extent, r, channel)) continue;
        const CodedWord c = code_word(words, r, channel, side);
        if (c.distance < tables.costs->distances[side.class_of[channel]]) continue;
        writer.push(c.is_zero() ? 0 : c.payload(), c.is_zero() ? 1 : escape_bits);
      }
      writer.emit();  // a lane without an escape has nothing to put out here
    }
    for (std::uint32_t v = 2 * rows; v-- > 0;) {
      const std::uint32_t r = first + v / 2, channel = 2 * lane + v % 2;
      if (has_value(extent, r, channel)) {
        const CodedWord c = code_word(words, r, channel, side);
        const std::uint32_t entry = tables.encode->symbols[side.class_of[channel]][c.symbol()];
        const std::uint32_t full = state_count + state, nb = (entry + (full << 16)) >> 27;
        writer.push(full & ((1u << nb) - 1), nb);
        state = tables.encode->states[(entry & 0xffff) + (full >> nb)];
      }
      if (v % 3 == 0) writer.emit();
    }
  }
  writer.push(state, state_bits);
  writer.emit();
  writer.finish();
}

/// Codes the lanes from ends.first_* on; returns the number of the stream's words, which
/// `write_stream` then puts in order.
template <class B>
OFFRAMP_DEVICE std::uint32_t encode_lanes(B& block, const Tables& tables,
                                          const std::uint16_t* words, TileExtent extent,
                                          const Side& side, StreamShared& shared, LaneOutput& out) {
  block.for_each(max_emits, [&](std::uint32_t i) { shared.emitting[i] = 0; });
  block.for_each(lanes_of(extent), [&](std::uint32_t lane) {
    encode_lane(block, tables, words, extent, side, shared, out, lane);
  });
  return block.scan(
      max_emits, [&](std::uint32_t i) { return count_ones(shared.emitting[i]); },
      [&](std::uint32_t i, std::uint32_t before) {
        shared.before[i] = static_cast<std::uint16_t>(before);
      });
}

template <class B>
OFFRAMP_DEVICE void write_stream(B& block, TileExtent extent, const StreamShared& shared,
                                 const LaneOutput& out, std::uint8_t* stream) {
  const std::uint32_t lanes = lanes_of(extent);
  block.for_each(max_lane_words * max_lanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % max_lanes, k = i / max_lanes;
    if (lane >= lanes || k >= shared.lane_words[lane]) return;
    const std::uint32_t emit = out.emit[k][lane];
    const std::uint32_t at =
        shared.before[emit] + count_ones(shared.emitting[emit] & ((1u << lane) - 1));
    store_aligned(stream + std::size_t{4} * at, out.word[k][lane]);
  });
}

/// What a heap piece's head says of the side data.
struct SideHead {
  std::uint8_t form{};
  std::uint8_t top{};
  std::uint8_t class_of{};
};

template <class B>
OFFRAMP_DEVICE SideHead head_of(B& block, std::uint8_t form, const Side& side,
                                std::uint32_t width) {
  struct Seen {
    std::uint32_t least, greatest, changes;
  };
  const Seen seen = block.reduce(
      width, Seen{255, 0, 0},
      [&](std::uint32_t c) {
        return Seen{side.top[c], side.top[c], side.change[c]};
      },
      [](const Seen& a, const Seen& b) {
        return Seen{lesser(a.least, b.least), a.greatest < b.greatest ? b.greatest : a.greatest,
                    a.changes | b.changes};
      });
  const bool wide = form != shared_form && seen.greatest - seen.least > 15;
  return {static_cast<std::uint8_t>(form | (wide ? wide_tops_flag : 0) |
                                    (seen.changes != 0 ? changes_flag : 0)),
          static_cast<std::uint8_t>(wide ? 0 : seen.greatest),
          static_cast<std::uint8_t>(form == classes_form ? 0 : side.class_of[0])};
}

/// Byte i of the side data.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint8_t side_byte(SideHead head, const Side& side,
                                                           const LaneEnds& ends, TileExtent extent,
                                                           std::uint32_t i) {
  const std::uint32_t lanes = lanes_of(extent), width = extent.width;
  const std::uint32_t plane = div_up(lanes, 8), nibbles = div_up(width, 2);
  const auto bits_of = [](std::uint32_t first, std::uint32_t end, auto&& bit) {
    std::uint32_t byte = 0;
    for (std::uint32_t j = 0; j < 8 && first + j < end; ++j) byte |= bit(first + j) << j;
    return static_cast<std::uint8_t>(byte);
  };
  const auto nibbles_of = [&](std::uint32_t pair, auto&& value) {
    const std::uint32_t high = 2 * pair + 1 < width ? value(2 * pair + 1) : 0;
    return static_cast<std::uint8_t>(value(2 * pair) | high << 4);
  };
  if (i < 5 * plane) {
    return bits_of(i % plane * 8, lanes,
                   [&](std::uint32_t l) { return ends.head_bits[l] >> (i / plane) & 1; });
  }
  i -= 5 * plane;
  if ((head.form & wide_tops_flag) != 0) {
    if (i < width) return side.top[i];
    i -= width;
  } else if ((head.form & form_mask) != shared_form) {
    if (i < nibbles) {
      return nibbles_of(i, [&](std::uint32_t c) { return std::uint32_t{head.top} - side.top[c]; });
    }
    i -= nibbles;
  }
  if ((head.form & form_mask) == classes_form) {
    if (i < nibbles) {
      return nibbles_of(i, [&](std::uint32_t c) { return std::uint32_t{side.class_of[c]}; });
    }
    i -= nibbles;
  }
  if ((head.form & changes_flag) != 0 && i < div_up(width, 8)) {
    return bits_of(8 * i, width, [&](std::uint32_t c) { return std::uint32_t{side.change[c]}; });
  }
  return 0;
}

/// Word j of the string of the lanes' heads.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint32_t heads_word(const LaneEnds& ends,
                                                             std::uint32_t lanes, std::uint32_t j) {
  std::uint32_t word = 0, begin = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint64_t head = ends.head[l];
    if (begin >= 32 * j && begin < 32 * j + 32) {
      word |= static_cast<std::uint32_t>(head << (begin - 32 * j));
    } else if (begin < 32 * j && begin + 32 > 32 * j) {
      word |= static_cast<std::uint32_t>(head >> (32 * j - begin));
    }
    begin += ends.head_bits[l];
  }
  return word;
}

[[nodiscard]] OFFRAMP_DEVICE inline std::uint32_t heads_bits(const LaneEnds& ends,
                                                             std::uint32_t lanes) {
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) bits += ends.head_bits[l];
  return bits;
}

[[nodiscard]] constexpr std::uint32_t heap_piece_size(TileExtent extent, std::uint8_t form,
                                                      std::uint32_t words, std::uint32_t heads) {
  return static_cast<std::uint32_t>(
      round_up(heap_header_size + side_size(extent, form) +
                   std::size_t{4} * (words + lanes_of(extent) + div_up(heads, 32)),
               tiles::section_alignment));
}

/// Writes a heap piece; all that it holds is known.
template <class B>
OFFRAMP_DEVICE void write_heap(B& block, SideHead head, const Side& side, TileExtent extent,
                               unsigned rest_bits, std::uint32_t words, const StreamShared& shared,
                               const LaneOutput& out, std::uint8_t* heap) {
  const std::uint32_t lanes = lanes_of(extent);
  const auto side_bytes = static_cast<std::uint32_t>(side_size(extent, head.form));
  std::uint8_t* const stream = heap + heap_header_size + side_bytes;
  block.single([&] {
    store_aligned(heap, static_cast<std::uint16_t>(words));
    heap[2] = head.form;
    heap[3] = head.top;
    heap[4] = head.class_of;
    heap[5] = static_cast<std::uint8_t>(rest_bits);
    heap[6] = heap[7] = 0;
  });
  block.for_each(side_bytes, [&](std::uint32_t i) {
    heap[heap_header_size + i] = side_byte(head, side, shared.ends, extent, i);
  });
  write_stream(block, extent, shared, out, stream);
  std::uint8_t* const buffers = stream + std::size_t{4} * words;
  block.for_each(lanes, [&](std::uint32_t l) {
    store_aligned(buffers + std::size_t{4} * l, shared.ends.buffer[l]);
  });
  const std::uint32_t bits = heads_bits(shared.ends, lanes);
  const std::uint32_t end = heap_piece_size(extent, head.form, words, bits);
  std::uint8_t* const heads = buffers + std::size_t{4} * lanes;
  block.for_each(static_cast<std::uint32_t>(heap + end - heads) / 4, [&](std::uint32_t j) {
    store_aligned(heads + std::size_t{4} * j, heads_word(shared.ends, lanes, j));
  });
}

}  // namespace offramp::exact_dense::block
