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

/// Behind the rings, of each warp: where a chunk's words wait for its escapes.
inline constexpr std::uint32_t patch_size = chunk_rows * 128;

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
    piece.changes = (both & 1) << 15 | (both & 2) << 30;
  }
  // Below such a top exponents wrap (tops that wrap do not come here either).
  const bool is_low = static_cast<int>(tops[0]) < 14 || static_cast<int>(tops[1]) < 14;
  if (__any_sync(all_lanes, unused != 0 || is_low)) return piece;
  piece.bases = pair(tops[0] - 14, tops[1] - 14) << 7;
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
                                        std::uint32_t table, std::uint32_t ring,
                                        std::uint32_t patches)
      : ring_(ring),
        patches_(patches + 4 * (threadIdx.x % 32)),
        below_(lanes_below()),
        begin_(piece.stream) {
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
    refill();
    state_ += table_[0];
  }

  /// A chunk's words but for their rest bits; signs may be changes. `bases` as in PieceHead.
  __device__ __forceinline__ void take_words(std::uint32_t bases,
                                             std::uint32_t (&words)[chunk_rows]) {
    std::uint32_t escapes[2] = {0, 0};  // of eight rows each: bits 12 to 5, and 28 to 21
    std::uint32_t window = high_, taken = 0, first = 0;
#pragma unroll
    for (int v = 0; v < 2 * static_cast<int>(chunk_rows); ++v) {
      if (v % 16 == 0) fill(6 * 32);
      const std::uint32_t entry = look_up(state_);
      // Where the next state stands in the other channel's class.
      state_ = __funnelshift_l(window, 0, entry) * 4 + ((entry >> 16) + table_[(v + 1) % 2]);
      taken += entry;
      window = __funnelshift_l(low_, high_, taken);
      if (v % 2 == 0) {
        first = entry;
      } else {
        const std::uint32_t both = __byte_perm(first, entry, 0x5410);
        escapes[v / 16] = escapes[v / 16] * 2 + (both & block::escape_flag * 0x10001u);
        words[v / 2] = (both & block::symbol_mask * 0x10001u) + bases;
      }
      if (v % 3 == 2 || v + 1 == 2 * static_cast<int>(chunk_rows)) {
        low_ = __funnelshift_l(0, low_, taken);
        high_ = window;
        count_ -= taken & 31;
        taken = 0;
        refill();
        window = high_;
      }
    }
    if (__any_sync(all_lanes, (escapes[0] | escapes[1]) != 0)) {
      // Bit 15 - i: row i of the even channel; 31 - i: of the odd one.
      take_escapes(escapes[0] << 3 & 0xff00ff00u | escapes[1] >> 5 & 0x00ff00ffu, words);
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
    count_ -= size;
  }
  /// Lanes with fewer than 32 bits take a word each. There may be too few: what is then taken is of
  /// no matter, as the end will not be where it should.
  __device__ __forceinline__ void refill() {
    const std::uint32_t wanting = __ballot_sync(all_lanes, count_ < 32);
    at_ -= 4 * __popc(wanting);
    const std::uint32_t word =
        load_shared((at_ + 4 * __popc(wanting & below_)) % ring_size | ring_);
    // Shifts by 32 or more give 0; in assembly, for want of such shifts in the language.
    asm("{.reg .pred wants; .reg .b32 part, rest; setp.lt.u32 wants, %2, 32; shr.b32 part, %3, %2;"
        " or.b32 %0, %0, part; sub.u32 rest, 32, %2; @wants shl.b32 %1, %3, rest;"
        " @wants add.u32 %2, %2, 32;}"
        : "+r"(high_), "+r"(low_), "+r"(count_)
        : "r"(word));
  }

  /// Puts the payloads of a chunk's escapes in place. By way of shared memory, as rows are
  /// numbered.
  __device__ __forceinline__ void take_escapes(std::uint32_t escapes,
                                               std::uint32_t (&words)[chunk_rows]) {
#pragma unroll
    for (std::uint32_t i = 0; i < chunk_rows; ++i) store_shared(patches_ + 128 * i, words[i]);
    std::uint32_t rows = __reduce_or_sync(all_lanes, (escapes | escapes >> 16) & 0xffff);
#pragma unroll 1
    while (rows != 0) {
      const std::uint32_t bit = 31 - __clz(rows);
      rows ^= 1u << bit;
      fill(32);
      const std::uint32_t at = patches_ + 128 * (15 - bit);
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if ((escapes >> (bit + 16 * c) & 1) == 0) continue;
        const bool is_zero = high_ >> 31 == 0;
        const std::uint32_t bits = is_zero ? 0 : high_ >> 21 & 1023;  // e, sign, top bit
        drop(is_zero ? 1 : 11);
        store_shared_16(at + 2 * c, bits >> 2 << 7 | (bits & 2) << 14 | (bits & 1) << 6);
      }
      refill();
    }
#pragma unroll
    for (std::uint32_t i = 0; i < chunk_rows; ++i) words[i] = load_shared(patches_ + 128 * i);
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
      sync_warp();
    }
  }

  std::uint32_t ring_;
  std::uint32_t patches_;
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

}  // namespace offramp::exact_dense::gpu
