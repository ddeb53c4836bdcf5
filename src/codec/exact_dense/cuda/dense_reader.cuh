// SPDX-License-Identifier: Apache-2.0
// The parts of decoding a full tile of bf16, by a warp.
#pragma once

#include "codec/exact_dense/block/dense_block_tables.hpp"
#include "codec/exact_dense/cuda/dense_lanes.cuh"

#include <cstdint>

namespace offramp::exact_dense::gpu {

/// What of a stream is about to be read stands in shared memory, at its address in the heap piece
/// modulo this.
inline constexpr std::uint32_t ring_size = 2048;

/// A heap piece's head as its lanes need it. All of it is checked; where it is not as an encoder
/// makes it for ordinary tiles, it is not sound here.
struct PieceHead {
  bool is_sound{};
  std::uint32_t stream{};   ///< offset in the piece
  std::uint32_t words{};    ///< of the stream
  std::uint32_t bases{};    ///< tops - 14, a byte each: of the even and the odd channel, twice
  std::uint32_t classes{};  ///< in halves
  std::uint32_t changes{};  ///< 0x80 in the byte of each channel whose sign is coded as a change
  std::uint32_t head{};     ///< the lane's
  std::uint32_t head_bits{};
  std::uint32_t buffer{};
};

__device__ __forceinline__ PieceHead read_head(const std::byte* heap, std::uint32_t units) {
  const std::uint32_t lane = threadIdx.x % 32;
  PieceHead piece;
  constexpr std::uint32_t planes = heap_header_size, sides = heap_header_size + 5 * 4;
  if (16 * units < sides) return piece;
  const auto word = [&](std::uint32_t at) {
    return *reinterpret_cast<const std::uint32_t*>(heap + at);
  };
  const auto byte = [&](std::uint32_t at) { return std::to_integer<std::uint32_t>(heap[at]); };
  const std::uint32_t front = word(0), second = word(4);
  const std::uint32_t form = front >> 16 & 255, top = front >> 24, class_of = second & 255;
  const std::uint32_t base = form & form_mask;
  const bool is_wide = (form & wide_tops_flag) != 0, has_tops = base != shared_form;
  const bool has_classes = base == classes_form, has_changes = (form & changes_flag) != 0;
  piece.words = front & 0xffff;
  if (second >> 8 != core_bits || base > classes_form ||
      (form & ~(form_mask | wide_tops_flag | changes_flag)) != 0 ||
      (is_wide && (!has_tops || top != 0)) ||
      (has_classes ? class_of != 0 : class_of >= class_count)) {
    return piece;
  }
  const std::uint32_t classes = sides + (is_wide ? 64 : has_tops ? 32 : 0);
  const std::uint32_t changes = classes + (has_classes ? 32 : 0);
  piece.stream = changes + (has_changes ? 8 : 0);
  const std::uint32_t buffers = piece.stream + 4 * piece.words, heads = buffers + 4 * 32;
  std::uint32_t bits = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::uint32_t plane = word(planes + 4 * i);
    bits += __popc(plane) << i;
    piece.head_bits |= (plane >> lane & 1) << i;
  }
  const std::uint32_t head_words = (bits + 31) / 32, end = heads + 4 * head_words;
  if ((end + 15) / 16 != units) return piece;

  // Bits behind the heads, and the words behind them.
  std::uint32_t unused = lane < units * 4 - end / 4 ? word(end + 4 * lane) : 0;
  if (bits % 32 != 0) unused |= word(end - 4) >> bits % 32;

  std::uint32_t tops[2] = {top, top};
  std::uint32_t class_pair = class_of * 0x10001u;
  if (is_wide) {
    tops[0] = byte(sides + 2 * lane);
    tops[1] = byte(sides + 2 * lane + 1);
  } else if (has_tops) {
    const std::uint32_t both = byte(sides + lane);
    tops[0] -= both & 15;
    tops[1] -= both >> 4;
  }
  if (has_classes) {
    const std::uint32_t both = byte(classes + lane);
    class_pair = pair(both & 15, both >> 4);
  }
  if (has_changes) {
    const std::uint32_t both = byte(changes + lane / 4) >> lane % 4 * 2;
    piece.changes = (both & 1) << 7 | (both & 2) << 14;
  }
  // Below such a top exponents wrap (tops that wrap do not come here either).
  const bool is_low = static_cast<int>(tops[0]) < 14 || static_cast<int>(tops[1]) < 14;
  if (__any_sync(all_lanes, unused != 0 || is_low)) return piece;
  piece.bases = (tops[0] - 14 | (tops[1] - 14) << 8) * 0x10001u;
  piece.classes = class_pair;
  piece.buffer = word(buffers + 4 * lane);
  const std::uint32_t begin = exclusive_scan(piece.head_bits);
  if (piece.head_bits != 0) {
    const std::uint32_t first = begin / 32, last = (begin + piece.head_bits - 1) / 32;
    const std::uint32_t low = word(heads + 4 * first), high = word(heads + 4 * last);
    piece.head = __funnelshift_r(low, high, begin) & ((1u << piece.head_bits) - 1);
  }
  piece.is_sound = true;
  return piece;
}

/// One lane's state and bits, the first of which is the highest; and the warp's place in the
/// stream, which is walked from its end.
class LaneReader {
 public:
  __device__ __forceinline__ LaneReader(const PieceHead& piece, const std::byte* heap,
                                        std::uint32_t table, std::uint32_t ring)
      : ring_(ring), below_(lanes_below()), begin_(piece.stream) {
    constexpr std::uint32_t stride = sizeof(block::DecodeTable) / class_count;
    table_[0] = table + half(piece.classes, 0) * stride;
    table_[1] = table + half(piece.classes, 1) * stride;
    at_ = piece.stream + 4 * piece.words;
    // Blocks of 512 bytes of the piece go to the ring; the last comes first.
    loaded_ = (at_ + 511) / 512 * 512;
    from_ = heap + loaded_ + 16 * (threadIdx.x % 32);
    prefetch(at_ - (loaded_ - 512));
    fill(32);

    count_ = 32 + piece.head_bits;
    high_ = __funnelshift_lc(piece.buffer, piece.head, 32 - piece.head_bits);
    low_ = __funnelshift_lc(0, piece.buffer, 32 - piece.head_bits);
    state_ = (high_ >> (32 - state_bits)) * 4;
    drop(state_bits);
    count_ -= state_bits;
    refill();
    state_ += table_[0];
  }

  /// Four symbols in each word: of two rows, in each the even and the odd channel.
  __device__ __forceinline__ void take_symbols(std::uint32_t (&symbols)[8]) {
    std::uint32_t taken = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (j % 4 == 0) fill(6 * 32);
      std::uint32_t entry[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if ((4 * j + i) % 3 == 0 && 4 * j + i != 0) {
          count_ -= taken & 255;
          taken = 0;
          refill();
        }
        entry[i] = look_up(state_);
        // Where the next state stands in the other channel's class.
        state_ = __funnelshift_l(high_, 0, entry[i]) * 4 + ((entry[i] >> 16) + table_[(i + 1) % 2]);
        drop(entry[i]);
        taken += entry[i];
      }
      symbols[j] = __byte_perm(__byte_perm(entry[0], entry[1], 0x51),
                               __byte_perm(entry[2], entry[3], 0x51), 0x5410);
    }
    count_ -= taken & 255;
  }

  /// Lanes with fewer than 32 bits take a word each. There may be too few: what is then taken is of
  /// no matter, as the end will not be where it should.
  __device__ __forceinline__ void refill() {
    const bool wants = count_ < 32;
    const std::uint32_t wanting = __ballot_sync(all_lanes, wants);
    at_ -= 4 * __popc(wanting);
    const std::uint32_t place = (at_ + 4 * __popc(wanting & below_)) % ring_size;
    const std::uint32_t word = load_shared(place | ring_);
    if (wants) {
      high_ |= __funnelshift_rc(word, 0, count_);
      low_ = __funnelshift_lc(0, word, 32 - count_);
      count_ += 32;
    }
  }

  /// Puts the payloads of a chunk's escapes in place.
  __device__ __forceinline__ void take_escapes(std::uint32_t (&symbols)[8],
                                               std::uint32_t (&exponents)[8]) {
    std::uint32_t any = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) any |= symbols[j];
    if (!__any_sync(all_lanes, (any & 0x20202020u) != 0)) return;
    std::uint32_t escapes = 0;  // bit j of byte i: value i of word j
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      escapes |= (j < 6 ? symbols[j] >> (5 - j) : symbols[j] << (j - 5)) & 0x01010101u << j;
    }
    // Rows with an escape: bit j of byte 0 for the first of word j, of byte 2 for the second.
    const std::uint32_t rows = __reduce_or_sync(all_lanes, (escapes | escapes >> 8) & 0x00ff00ffu);
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      if ((rows >> j & 0x10001u) == 0) continue;
      std::uint32_t symbol = 0, exponent = 0, mask = 0;
#pragma unroll 1
      for (int r = 0; r < 4; r += 2) {
        if ((rows >> (8 * r + j) & 1) == 0) continue;
        fill(32);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if ((escapes >> (8 * (r + i) + j) & 1) == 0) continue;
          const bool is_zero = high_ >> 31 == 0;
          const std::uint32_t bits = is_zero ? 0 : high_ >> 21 & 1023;
          const std::uint32_t size = is_zero ? 1 : 11;
          drop(size);
          count_ -= size;
          const int shift = 8 * (r + i);
          mask |= 255u << shift;
          exponent |= bits >> 2 << shift;
          symbol |= ((bits & 2) << 6 | (bits & 1) << 6) << shift;
        }
        refill();
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (i != j) continue;
        symbols[i] = symbols[i] & ~mask | symbol;
        exponents[i] = exponents[i] & ~mask | exponent;
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t hidden_state() const {
    return (state_ - table_[0]) / 4 & 255;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t hidden_buffer() const { return high_; }
  /// Whether nothing is left, of the stream or of the lane's bits, and the state is one of 256.
  [[nodiscard]] __device__ __forceinline__ bool is_at_end() const {
    return at_ == begin_ && count_ == 32 && state_ - table_[0] < 4 * 256;
  }

 private:
  __device__ __forceinline__ void drop(std::uint32_t size) {
    high_ = __funnelshift_l(low_, high_, size);
    low_ = __funnelshift_l(0, low_, size);
  }
  /// Loads the lane's part of the block of 512 bytes before the last, of which `size` are wanted.
  __device__ __forceinline__ void prefetch(std::uint32_t size) {
    from_ -= 512;
    if (16 * (threadIdx.x % 32) < size) next_ = __ldcs(reinterpret_cast<const uint4*>(from_));
  }
  /// Sees to it that `words` are in the ring before `at_`, or all that there are.
  __device__ __forceinline__ void fill(std::uint32_t words) {
#pragma unroll 1
    while (loaded_ > 0 && static_cast<int>(at_ - loaded_) < static_cast<int>(4 * words)) {
      loaded_ -= 512;
      store_shared(ring_ | (loaded_ + 16 * (threadIdx.x % 32)) % ring_size, next_);
      if (loaded_ > 0) prefetch(512);
      __syncwarp();
    }
  }

  std::uint32_t ring_;
  std::uint32_t below_;
  std::uint32_t begin_;
  std::uint32_t table_[2];
  std::uint32_t at_;      ///< where the words that are left end, in the piece
  std::uint32_t loaded_;  ///< where those in the ring begin
  const std::byte* from_;
  uint4 next_{};
  std::uint32_t state_;  ///< where it stands in the table of the channel that is next
  std::uint32_t high_{}, low_{};
  std::uint32_t count_;
};

/// Low bytes of four values each, from the rest words of a chunk.
__device__ __forceinline__ void unpack_rest(const std::uint32_t (&rest)[rest_words_a_chunk],
                                            std::uint32_t (&low)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    low[2 * i] = rest[i] << 2 & 0x3c3c3c3cu;
    low[2 * i + 1] = rest[i] >> 2 & 0x3c3c3c3cu;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) low[i] |= rest[4 + i / 4] >> i % 4 * 2 & 0x03030303u;
}

/// Signs of four values each, as `take_symbols` has them, where some channels code them as changes.
class SignCarry {
 public:
  __device__ __forceinline__ explicit SignCarry(std::uint32_t changes) : changes_(changes) {}

  __device__ __forceinline__ std::uint32_t signs_of(std::uint32_t symbols) {
    std::uint32_t signs = symbols & 0x80808080u ^ above_;
    signs ^= signs << 16 & changes_ << 16;
    above_ = signs >> 16 & changes_;
    return signs;
  }

 private:
  std::uint32_t changes_;
  std::uint32_t above_{};
};

}  // namespace offramp::exact_dense::gpu
