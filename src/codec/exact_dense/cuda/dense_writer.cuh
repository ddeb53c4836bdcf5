// SPDX-License-Identifier: Apache-2.0
// The parts of coding a full tile of bf16, by a warp, from its last chunk to its first.
#pragma once

#include "codec/exact_dense/cuda/dense_choice.cuh"

#include <cstdint>

namespace offramp::exact_dense::gpu {

/// The symbols' table in shared memory: 64 words a class. A symbol is a byte, its offset there:
/// distance - distances (of the class) mod 16 << 4 | top bit << 3 | sign << 2. So the table has no
/// room between symbols and escapes, and one addition tells escapes by a bit above the byte.
inline constexpr std::uint32_t class_stride = 256;

/// What a class's offsets are exchanged by: else one symbol's entries of all classes would stand in
/// one bank.
__device__ __forceinline__ std::uint32_t spread_of(std::uint32_t class_of) {
  return class_of * 44 & 124;
}

/// Writes the side data but for the heads; returns the size of all of it. Bytes of a staging or of
/// the piece's place.
__device__ __forceinline__ std::uint32_t write_side(const TileChoice& tile,
                                                    const LaneChoice& lane_choice,
                                                    std::byte* heap) {
  const std::uint32_t lane = threadIdx.x % 32;
  auto* at = reinterpret_cast<std::uint8_t*>(heap) + heap_header_size + 5 * 4;
  const bool is_wide = tile.form != shared_form && tile.greatest - tile.least > 15;
  const auto nibbles = [](std::uint32_t both) {
    return static_cast<std::uint8_t>(both & 15 | both >> 12);
  };
  if (is_wide) {
    reinterpret_cast<std::uint16_t*>(at)[lane] =
        static_cast<std::uint16_t>(lane_choice.tops & 255 | lane_choice.tops >> 8);
    at += 64;
  } else if (tile.form != shared_form) {
    at[lane] = nibbles(tile.greatest * 0x10001u - lane_choice.tops);
    at += 32;
  }
  if (tile.form == classes_form) {
    at[lane] = nibbles(lane_choice.classes);
    at += 32;
  }
  const bool changes = __any_sync(all_lanes, lane_choice.changes != 0);
  if (changes) {
    std::uint32_t bits = (lane_choice.changes >> 15 & 1 | lane_choice.changes >> 30)
                         << lane % 4 * 2;
    bits |= __shfl_xor_sync(all_lanes, bits, 1);
    bits |= __shfl_xor_sync(all_lanes, bits, 2);
    if (lane % 4 == 0) at[lane / 4] = static_cast<std::uint8_t>(bits);
    at += 8;
  }
  if (lane == 0) {
    const std::uint32_t form =
        tile.form | (is_wide ? wide_tops_flag : 0u) | (changes ? changes_flag : 0u);
    const std::uint32_t top = is_wide ? 0 : tile.greatest;
    const std::uint32_t class_of = tile.form == classes_form ? 0 : lane_choice.classes & 255;
    // The number of words in front comes at the end.
    reinterpret_cast<std::uint32_t*>(heap)[1] = class_of | core_bits << 8;
    reinterpret_cast<std::uint16_t*>(heap)[1] = static_cast<std::uint16_t>(form | top << 8);
  }
  return static_cast<std::uint32_t>(at - reinterpret_cast<std::uint8_t*>(heap)) - heap_header_size;
}

/// The rest words of a chunk, from the lane's words of its rows.
__device__ __forceinline__ void pack_rest(const std::uint32_t (&v)[chunk_rows],
                                          std::uint32_t (&rest)[rest_words_a_chunk]) {
  std::uint32_t low[8];  // the low bytes of four values
#pragma unroll
  for (int i = 0; i < 8; ++i) low[i] = __byte_perm(v[2 * i], v[2 * i + 1], 0x6420);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    rest[i] = low[2 * i] >> 2 & 0x0f0f0f0fu | low[2 * i + 1] << 2 & 0xf0f0f0f0u;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t* const four = low + 4 * i;
    rest[4 + i] = four[0] & 0x03030303u | four[1] << 2 & 0x0c0c0c0cu | four[2] << 4 & 0x30303030u |
                  four[3] << 6 & 0xc0c0c0c0u;
  }
}

/// Rows of a tile by way of shared memory, two chunks of 2 KiB in turns: while one is coded, the
/// next is on its way.
class RowFeed {
 public:
  static constexpr std::uint32_t chunk_size = chunk_rows * 128;

  __device__ __forceinline__ RowFeed(const std::byte* from, std::uint64_t row_size,
                                     std::uint32_t room)
      : lane_(threadIdx.x % 32),
        from_(from + lane_ / 8 * row_size + lane_ % 8 * 16),
        row_size_(row_size),
        room_(room) {}

  __device__ __forceinline__ void stage(std::uint32_t g) const {
    const std::byte* const from = from_ + g * chunk_rows * row_size_;
    const std::uint32_t to = staged_begin(g) + 16 * lane_;
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 512 * i),
                   "l"(from + 4 * i * row_size_)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  /// The lane's words of chunk g, which is staged, and stages the one before it.
  __device__ __forceinline__ void take(std::uint32_t g, std::uint32_t (&v)[chunk_rows]) const {
    sync_warp();  // all have read what is written over
    if (g > 0) {
      stage(g - 1);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    sync_warp();
#pragma unroll
    for (std::uint32_t i = 0; i < chunk_rows; ++i) v[i] = load_shared(staged(g) + 128 * i);
  }
  /// Where the lane's word of chunk g's first row stands.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t staged(std::uint32_t g) const {
    return staged_begin(g) + 4 * lane_;
  }
  /// The lane's word of the row above chunk g, which is not the first.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t row_above(std::uint32_t g) const {
    const std::byte* const first = from_ - (lane_ / 8 * row_size_ + lane_ % 8 * 16);
    return __ldg(reinterpret_cast<const std::uint32_t*>(first + 4 * lane_ +
                                                        (g * chunk_rows - 1) * row_size_));
  }

 private:
  /// The two halves of the warp's part of the histograms.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t staged_begin(std::uint32_t g) const {
    return room_ + g % 2 * sign_step;
  }

  std::uint32_t lane_;
  const std::byte* from_;
  std::uint64_t row_size_;
  std::uint32_t room_;
};
static_assert(RowFeed::chunk_size == warp_step);

/// One lane's state and bits. The newest bits are the highest of 64; a full buffer waits beside.
class LaneCoder {
 public:
  __device__ __forceinline__ LaneCoder(const LaneChoice& choice, std::uint32_t symbols,
                                       std::byte* stream, std::uint32_t stream_room)
      : changes_(choice.changes),
        stream_(reinterpret_cast<std::uint32_t*>(stream)),
        last_word_(stream_room - 1),
        below_(lanes_below()) {
    std::uint32_t distances[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t k = half(choice.classes, c);
      class_table_[c] = symbols + k * class_stride;
      distances[c] = distances_of(k);
    }
    spread_ = pair(spread_of(half(choice.classes, 0)), spread_of(half(choice.classes, 1)));
    from_top_ = __vsub2(choice.tops * 16, 0x0ff00ff0u);
    bias_ = 0x01000100u - pair(distances[0], distances[1]) * 16;
  }

  __device__ __forceinline__ void begin(std::uint32_t hidden_state, std::uint32_t hidden_buffer) {
    state_ = state_count + hidden_state;
    buffer_ = hidden_buffer;
  }

  /// The words of a chunk become symbols, bits 8 and 24 telling escapes.
  __device__ __forceinline__ void make_symbols(std::uint32_t (&v)[chunk_rows],
                                               std::uint32_t above) const {
#pragma unroll
    for (int i = chunk_rows - 1; i >= 0; --i) v[i] = symbol_of(v[i], i > 0 ? v[i - 1] : above);
  }
  [[nodiscard]] __device__ __forceinline__ bool any_escapes(
      const std::uint32_t (&v)[chunk_rows]) const {
    std::uint32_t any = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < chunk_rows; ++i) any |= v[i];
    return __any_sync(all_lanes, (any & escapes) != 0);
  }

  /// `staged` is where the rows stand that the symbols were made of.
  __device__ __forceinline__ void push_escapes(const std::uint32_t (&v)[chunk_rows],
                                               std::uint32_t staged, std::uint32_t above) {
    std::uint32_t rows = 0;  // bit i: the even channel's in row i, bit 16 + i: the odd one's
#pragma unroll
    for (std::uint32_t i = 0; i < chunk_rows; ++i) {
      rows |= (i < 8 ? v[i] >> (8 - i) : v[i] << (i - 8)) & 0x00010001u << i;
    }
    std::uint32_t left = __reduce_or_sync(all_lanes, (rows | rows >> 16) & 0xffff);
#pragma unroll 1
    while (left != 0) {
      const std::uint32_t i = 31 - __clz(left);
      left ^= 1u << i;
      const std::uint32_t word = load_shared(staged + 128 * i);
      const std::uint32_t before = i > 0 ? load_shared(staged + 128 * (i - 1)) : above;
      const std::uint32_t coded = word ^ (before & changes_);  // of the sign
#pragma unroll
      for (int c = 1; c >= 0; --c) {
        if ((rows >> (i + 16 * c) & 1) == 0) continue;
        const std::uint32_t one = word >> 16 * c, sign = coded >> (15 + 16 * c) & 1;
        const std::uint32_t bits = (one >> 7 & 255) << 2 | sign << 1 | (one >> 6 & 1);
        zeros_ += (one & 0x7f80) == 0;
        push(bits == 0 ? 0 : 1u << 10 | bits, bits == 0 ? 1 : 11);
      }
      emit();
    }
  }

  __device__ __forceinline__ void push_symbols(const std::uint32_t (&v)[chunk_rows]) {
#pragma unroll
    for (int i = chunk_rows - 1; i >= 0; --i) {
#pragma unroll
      for (int c = 1; c >= 0; --c) {
        const std::uint32_t entry =
            look_up(__byte_perm(v[i], class_table_[c], c == 0 ? 0x7650 : 0x7652));
        const std::uint32_t count = (state_ * 65536u + entry) >> 27;
        push(state_, count);
        state_ = look_up_16((state_ >> count) * 2 + (entry & 0xffff));
        if ((2 * i + c) % 3 == 0) emit();
      }
    }
  }

  /// Values that an escape's payload shows to have exponent 0: all zeros, and some others.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t zeros() const { return zeros_; }

  /// Completes the heap piece; returns its size. `room` has 128 bytes of shared memory.
  __device__ __forceinline__ std::uint32_t finish(std::byte* heap, const TileChoice& tile,
                                                  std::uint32_t side, std::uint32_t room) {
    const std::uint32_t lane = threadIdx.x % 32;
    push(state_, state_bits);
    emit();
    const std::uint32_t begin = exclusive_scan(count_);
    const std::uint32_t bits = __shfl_sync(all_lanes, begin + count_, 31);
    const std::uint32_t head_words = (bits + 31) / 32;
    const std::uint32_t used = heap_header_size + side + 4 * (words_ + 32 + head_words);
    const std::uint32_t size = (used + 15) / 16 * 16;
    if (words_ + 32 + head_words > last_word_ + 1) return size;  // there is no room for it
    sync_warp();
    store_shared(room + 4 * lane, 0);
    sync_warp();
    if (count_ != 0) {
      const std::uint32_t head = high_ >> (32 - count_);
      const std::uint32_t at = room + begin / 32 * 4, shift = begin % 32;
      or_shared(at, head << shift);
      if (shift + count_ > 32) or_shared(at + 4, head >> (32 - shift));
    }
    sync_warp();
    __stcg(stream_ + words_ + lane, buffer_);
    if (lane < (size - heap_header_size - side) / 4 - words_ - 32) {
      __stcg(stream_ + words_ + 32 + lane, load_shared(room + 4 * lane));
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 5; ++i) {
      const std::uint32_t plane = __ballot_sync(all_lanes, (count_ >> i & 1) != 0);
      if (lane == i) reinterpret_cast<std::uint32_t*>(heap + heap_header_size)[i] = plane;
    }
    if (lane == 0) *reinterpret_cast<std::uint16_t*>(heap) = static_cast<std::uint16_t>(words_);
    return size;
  }

 private:
  static constexpr std::uint32_t escapes = 0x01000100u;

  /// From constant memory: distances of all classes, a nibble each.
  [[nodiscard]] static __device__ __forceinline__ std::uint32_t distances_of(std::uint32_t k) {
    constexpr std::uint64_t nibbles = [] {
      std::uint64_t all = 0;
      for (std::size_t i = 0; i < class_count; ++i) {
        all |= std::uint64_t{class_models[i].distances} << (4 * i);
      }
      return all;
    }();
    return static_cast<std::uint32_t>(nibbles >> (4 * k)) & 15;
  }

  [[nodiscard]] __device__ __forceinline__ std::uint32_t symbol_of(std::uint32_t word,
                                                                   std::uint32_t above) const {
    const std::uint32_t moved = word >> 3;
    // Of a complement of the exponent: those above the top wrap, and become the greatest.
    const std::uint32_t distance =
        __viaddmin_u16x2(~moved & 0x0ff00ff0u, from_top_, 0x00f000f0u) + bias_;
    const std::uint32_t sign = (word ^ (above & changes_)) >> 13;
    return ((moved & 0x00080008u | distance) | (sign & 0x00040004u)) ^ spread_;
  }

  __device__ __forceinline__ void push(std::uint32_t value, std::uint32_t size) {
    low_ = __funnelshift_r(low_, high_, size);
    high_ = __funnelshift_r(high_, value, size);
    count_ += size;
  }
  __device__ __forceinline__ void emit() {
    const bool is_full = count_ >= 32;
    const std::uint32_t full = __ballot_sync(all_lanes, is_full);
    if (is_full) {
      __stcg(stream_ + min(words_ + __popc(full & below_), last_word_), buffer_);
      buffer_ = __funnelshift_rc(low_, high_, 64 - count_);
      count_ -= 32;
    }
    words_ += __popc(full);
  }
  static __device__ __forceinline__ void or_shared(std::uint32_t at, std::uint32_t bits) {
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(at), "r"(bits) : "memory");
  }

  std::uint32_t changes_;
  std::uint32_t class_table_[2];
  std::uint32_t spread_;
  std::uint32_t from_top_;
  std::uint32_t bias_;
  std::uint32_t* stream_;
  std::uint32_t last_word_;
  std::uint32_t below_;
  std::uint32_t state_{};
  std::uint32_t high_{}, low_{};
  std::uint32_t count_{};
  std::uint32_t buffer_{};
  std::uint32_t words_{};
  std::uint32_t zeros_{};
};

}  // namespace offramp::exact_dense::gpu
