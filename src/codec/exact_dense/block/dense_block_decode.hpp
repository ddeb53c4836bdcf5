// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_stream.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::exact_dense::block {

/// Bytes that are not trusted.
struct Untrusted {
  const std::uint8_t* data{};
  std::uint32_t size{};

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t word(std::uint32_t at) const {
    return load<std::uint32_t>(data + at);
  }
};

/// Where a heap piece has its parts.
struct HeapParts {
  bool is_sound{};
  std::uint8_t form{};
  std::uint8_t top{};
  std::uint8_t class_of{};
  std::uint8_t rest_bits{};
  std::uint32_t words{};
  std::uint32_t stream{};  ///< offsets
  std::uint32_t buffers{};
  std::uint32_t heads{};
};

/// All but the size of the heads is looked at.
[[nodiscard]] OFFRAMP_DEVICE inline HeapParts find_parts(TileExtent extent, const Untrusted& heap) {
  HeapParts parts;
  if (heap.size < heap_header_size) return parts;
  parts.words = load<std::uint16_t>(heap.data);
  parts.form = heap.data[2];
  parts.top = heap.data[3];
  parts.class_of = heap.data[4];
  parts.rest_bits = heap.data[5];
  const unsigned base = parts.form & form_mask;
  const bool wide = (parts.form & wide_tops_flag) != 0;
  if ((heap.data[6] | heap.data[7]) != 0 || base > classes_form ||
      (parts.form & ~(form_mask | wide_tops_flag | changes_flag)) != 0 ||
      (wide && (base == shared_form || parts.top != 0)) ||
      (base == classes_form ? parts.class_of != 0 : parts.class_of >= class_count)) {
    return parts;
  }
  parts.stream = static_cast<std::uint32_t>(heap_header_size + side_size(extent, parts.form));
  parts.buffers = parts.stream + 4 * parts.words;
  parts.heads = parts.buffers + 4 * lanes_of(extent);
  parts.is_sound = parts.heads <= heap.size;
  return parts;
}

/// Where a channel finds its side data.
struct SideReader {
  const HeapParts& parts;
  TileExtent extent;
  const std::uint8_t* side;

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t plane() const { return div_up(lanes_of(extent), 8); }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t nibbles() const { return div_up(extent.width, 2); }
  [[nodiscard]] OFFRAMP_DEVICE bool has_tops() const {
    return (parts.form & form_mask) != shared_form;
  }
  [[nodiscard]] OFFRAMP_DEVICE bool is_wide() const { return (parts.form & wide_tops_flag) != 0; }
  [[nodiscard]] OFFRAMP_DEVICE bool has_classes() const {
    return (parts.form & form_mask) == classes_form;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t classes_at() const {
    return 5 * plane() + (!has_tops() ? 0 : is_wide() ? extent.width : nibbles());
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t changes_at() const {
    return classes_at() + (has_classes() ? nibbles() : 0);
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t end() const {
    return changes_at() + ((parts.form & changes_flag) != 0 ? div_up(extent.width, 8) : 0);
  }

  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t head_bits(std::uint32_t lane) const {
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < 5; ++i) {
      bits |= (side[i * plane() + lane / 8] >> lane % 8 & 1u) << i;
    }
    return bits;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t nibble(std::uint32_t at, std::uint32_t channel) const {
    return side[at + channel / 2] >> channel % 2 * 4 & 15u;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint8_t top(std::uint32_t channel) const {
    if (is_wide()) return side[5 * plane() + channel];
    const std::uint32_t below = has_tops() ? nibble(5 * plane(), channel) : 0;
    return static_cast<std::uint8_t>(parts.top - below);
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint8_t class_of(std::uint32_t channel) const {
    return static_cast<std::uint8_t>(has_classes() ? nibble(classes_at(), channel)
                                                   : parts.class_of);
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint8_t change(std::uint32_t channel) const {
    if ((parts.form & changes_flag) == 0) return 0;
    return side[changes_at() + channel / 8] >> channel % 8 & 1;
  }
  /// Bits that nothing uses, and the padding.
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t unused() const {
    std::uint32_t bits = 0;
    const auto above = [&](std::uint32_t at, std::uint32_t used) {
      if (used != 0) bits |= side[at] >> used;
    };
    const std::uint32_t lanes = lanes_of(extent), odd = extent.width % 2 * 4;
    for (std::uint32_t i = 0; i < 5; ++i) above((i + 1) * plane() - 1, lanes % 8);
    if (has_tops() && !is_wide()) above(classes_at() - 1, odd);
    if (has_classes()) above(changes_at() - 1, odd);
    if ((parts.form & changes_flag) != 0) above(end() - 1, extent.width % 8);
    const auto size = static_cast<std::uint32_t>(side_size(extent, parts.form));
    for (std::uint32_t i = end(); i < size; ++i) bits |= side[i];
    return bits;
  }
};

/// Reads side data, heads and buffers to shared memory. False where the piece is none.
template <class B>
OFFRAMP_DEVICE bool read_heap(B& block, TileExtent extent, const HeapParts& parts,
                              const Untrusted& heap, Side& side, StreamShared& shared) {
  const std::uint32_t lanes = lanes_of(extent);
  const SideReader reader{parts, extent, heap.data + heap_header_size};
  const auto head_bits = [&](std::uint32_t l) { return reader.head_bits(l); };
  std::uint32_t bits = 0;
  for (std::uint32_t l = 0; l < lanes; ++l) bits += head_bits(l);
  const std::uint32_t size = parts.heads + 4 * div_up(bits, 32);
  if (heap.size != round_up(size, tiles::section_alignment)) return false;
  std::uint32_t unused = reader.unused();
  if (bits % 32 != 0) unused |= heap.word(size - 4) >> bits % 32;
  for (std::uint32_t at = size; at < heap.size; at += 4) unused |= heap.word(at);
  if (unused != 0) return false;

  block.for_each(pitch, [&](std::uint32_t c) {
    const bool exists = c < extent.width;
    side.top[c] = exists ? reader.top(c) : 0;
    side.class_of[c] = exists ? reader.class_of(c) : 0;
    side.change[c] = exists ? reader.change(c) : 0;
  });
  block.for_each(lanes, [&](std::uint32_t l) {
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i < l; ++i) begin += head_bits(i);
    const std::uint32_t count = head_bits(l);
    std::uint64_t head = 0;
    if (count != 0) {
      const std::uint32_t first = begin / 32, last = (begin + count - 1) / 32;
      head = heap.word(parts.heads + 4 * first);
      if (last != first) head |= std::uint64_t{heap.word(parts.heads + 4 * last)} << 32;
      head = head >> begin % 32 & ((std::uint64_t{1} << count) - 1);
    }
    auto& lane = shared.lane[l];
    lane.bits = (head << 32 | heap.word(parts.buffers + 4 * l)) << (32 - count);
    lane.count = 32 + count;
    lane.sign_above[0] = lane.sign_above[1] = 0;
  });
  return true;
}

[[nodiscard]] OFFRAMP_DEVICE inline std::uint32_t take(StreamShared::Lane& lane,
                                                       std::uint32_t size) {
  const auto taken = size == 0 ? 0u : static_cast<std::uint32_t>(lane.bits >> (64 - size));
  lane.bits <<= size;
  lane.count -= size;
  return taken;
}

/// The stream's words, taken from the last on. A refill is asked for by all lanes at once, and each
/// lane then takes its word before it goes on.
template <class B>
class LaneFeed {
 public:
  OFFRAMP_DEVICE LaneFeed(B& block, StreamShared& shared, std::uint32_t lanes,
                          const std::uint8_t* stream, std::uint32_t words)
      : block_(block), shared_(shared), lanes_(lanes), stream_(stream), left_(words) {}

  /// False where fewer words are left than lanes ask for.
  OFFRAMP_DEVICE bool refill() {
    wanting_ = any_bits<std::uint32_t>(
        block_, lanes_, [&](std::uint32_t l) { return shared_.lane[l].count < 32 ? 1u << l : 0u; });
    const std::uint32_t wanted = count_ones(wanting_);
    if (wanted > left_) return false;
    left_ -= wanted;
    return true;
  }
  /// By the thread that works on lane l, once after a refill.
  OFFRAMP_DEVICE void receive(std::uint32_t l) const {
    if ((wanting_ >> l & 1) == 0) return;
    auto& lane = shared_.lane[l];
    const std::uint32_t rank = count_ones(wanting_ & ((1u << l) - 1));
    const auto word = load_aligned<std::uint32_t>(stream_ + std::size_t{4} * (left_ + rank));
    lane.bits |= std::uint64_t{word} << (32 - lane.count);
    lane.count += 32;
  }
  [[nodiscard]] OFFRAMP_DEVICE std::uint32_t left() const { return left_; }

 private:
  B& block_;
  StreamShared& shared_;
  std::uint32_t lanes_;
  const std::uint8_t* stream_;
  std::uint32_t left_;
  std::uint32_t wanting_{};
};

/// Decodes words whose rest bits are 0, 0 where there is no value, in rows of the pitch; leaves
/// what was hidden in ends.first_*. False where the stream is none.
template <class B>
OFFRAMP_DEVICE bool decode_lanes(B& block, const DecodeTable& table, TileExtent extent,
                                 const Side& side, const std::uint8_t* stream, std::uint32_t count,
                                 StreamShared& shared, std::uint16_t* words) {
  const std::uint32_t lanes = lanes_of(extent);
  LaneFeed<B> feed(block, shared, lanes, stream, count);
  block.for_each(lanes,
                 [&](std::uint32_t l) { shared.lane[l].state = take(shared.lane[l], state_bits); });
  if (!feed.refill()) return false;
  for (std::uint32_t g = 0; g < chunks_of(extent.rows); ++g) {
    const std::uint32_t first = g * chunk_rows, rows = rows_of_chunk(extent.rows, g);
    for (std::uint32_t v0 = 0; v0 < 2 * rows; v0 += 3) {
      block.for_each(lanes, [&](std::uint32_t l) {
        auto& lane = shared.lane[l];
        feed.receive(l);
        if (v0 == 0) lane.escapes[0] = lane.escapes[1] = 0;
        for (std::uint32_t v = v0; v < lesser(v0 + 3, 2 * rows); ++v) {
          const std::uint32_t r = first + v / 2, h = v % 2, channel = 2 * l + h;
          std::uint16_t word = 0;
          if (has_value(extent, r, channel)) {
            const std::uint32_t entry = table.of[side.class_of[channel]][lane.state];
            lane.state = (entry >> 18) + take(lane, entry & count_mask);
            const std::uint32_t e = (side.top[channel] - 14u + (entry >> 7 & 15)) & 255;
            word = static_cast<std::uint16_t>((entry & 0x8040) | e << 7);
            if ((entry & escape_flag) != 0) lane.escapes[h] |= 1u << v / 2;
          }
          words[r * pitch + channel] = word;
        }
      });
      if (!feed.refill()) return false;
    }
    std::uint32_t escaped_rows = any_bits<std::uint32_t>(block, lanes, [&](std::uint32_t l) {
      return shared.lane[l].escapes[0] | shared.lane[l].escapes[1];
    });
    for (; escaped_rows != 0; escaped_rows &= escaped_rows - 1) {
      const std::uint32_t i = lowest_one(escaped_rows);
      block.for_each(lanes, [&](std::uint32_t l) {
        auto& lane = shared.lane[l];
        feed.receive(l);
        for (std::uint32_t h = 0; h < 2; ++h) {
          if ((lane.escapes[h] >> i & 1) == 0) continue;
          const std::uint32_t payload = take(lane, 1) == 0 ? 0 : take(lane, escape_bits - 1);
          words[(first + i) * pitch + 2 * l + h] = static_cast<std::uint16_t>(
              (payload >> 2) << 7 | (payload >> 1 & 1) << 15 | (payload & 1) << 6);
        }
      });
      if (!feed.refill()) return false;
    }
    block.for_each(2 * lanes, [&](std::uint32_t channel) {
      if (side.change[channel] == 0) return;
      std::uint32_t& above = shared.lane[channel / 2].sign_above[channel % 2];
      for (std::uint32_t i = 0; i < rows && has_value(extent, first + i, channel); ++i) {
        std::uint16_t& word = words[(first + i) * pitch + channel];
        above = (word ^ above) & 0x8000;
        word = static_cast<std::uint16_t>((word & 0x7fff) | above);
      }
    });
  }
  block.for_each(lanes, [&](std::uint32_t l) { feed.receive(l); });
  const bool is_whole =
      all_of(block, lanes, [&](std::uint32_t l) { return shared.lane[l].count == 32; });
  if (!is_whole || feed.left() != 0) return false;
  block.for_each(lanes, [&](std::uint32_t l) {
    shared.ends.first_state[l] = shared.lane[l].state;
    shared.ends.first_buffer[l] = static_cast<std::uint32_t>(shared.lane[l].bits >> 32);
  });
  return true;
}

}  // namespace offramp::exact_dense::block
