// SPDX-License-Identifier: Apache-2.0
// Included once for each target by dense_simd.cpp: the stream to words.
#if defined(OFFRAMP_DENSE_DECODER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_DECODER_INL_H_
#undef OFFRAMP_DENSE_DECODER_INL_H_
#else
#define OFFRAMP_DENSE_DECODER_INL_H_
#endif

#include "codec/exact_dense/coding_tables.hpp"
#include "codec/exact_dense/dense_kernels.hpp"
#include "codec/exact_dense/dense_setup-inl.h"

#include <algorithm>
#include <bit>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

#if OFFRAMP_DENSE_HAS_LANES

/// The decoder's side: the next bits stand at the top of hi:lo.
class Reader {
 public:
  Reader(const StreamEnds& ends, std::uint32_t lanes, const std::uint32_t* stream, std::size_t size)
      : stream_(stream), left_(static_cast<std::ptrdiff_t>(size)) {
    alignas(64) std::uint32_t hi[max_lanes]{}, lo[max_lanes]{}, count[max_lanes];
    // Lanes that do not exist give their state and never ask for more.
    std::fill_n(count, max_lanes, 32 + state_bits);
    for (std::uint32_t l = 0; l < lanes; ++l) {
      const std::uint64_t bits = (std::uint64_t{ends.head[l]} << 32 | ends.buffer[l])
                                 << (32 - ends.head_bits[l]);
      hi[l] = static_cast<std::uint32_t>(bits >> 32);
      lo[l] = static_cast<std::uint32_t>(bits);
      count[l] = 32 + ends.head_bits[l];
    }
    hi_ = load_lanes(hi);
    lo_ = load_lanes(lo);
    count_ = load_lanes(count);
  }

  HWY_INLINE Vector peek(std::size_t i) const { return hi_[i]; }

  /// `prefix` followed by the next n mod 32 bits.
  HWY_INLINE Vector peek_behind(std::size_t i, Vector prefix, Vector n) const {
    return funnel_left(prefix, hi_[i], n);
  }

  /// n below 32.
  HWY_INLINE void skip(std::size_t i, Vector n) {
    hi_[i] = funnel_left(hi_[i], lo_[i], n);
    lo_[i] = hn::Shl(lo_[i], n);
    count_[i] = hn::Sub(count_[i], n);
  }

  /// False where the stream ends too early. Where no word comes, `count` is 32 or more and both
  /// shifts give 0.
  HWY_INLINE bool refill() {
    unsigned wanting[vectors];
    int words = 0;
    for (std::size_t i = 0; i < vectors; ++i) {
      wanting[i] = mask_bits(hn::TestBit(count_[i], set(32))) ^ ((1U << lanes_a_vector) - 1);
      words += std::popcount(wanting[i]);
    }
    left_ -= words;
    if (HWY_UNLIKELY(left_ < 0)) return false;
    const std::uint32_t* from = stream_ + left_;
    for (std::size_t i = 0; i < vectors; ++i) {
      const Vector word = expand(hn::LoadU(Tag(), from), wanting[i]);
      from += std::popcount(wanting[i]);
      hi_[i] = hn::Or(hi_[i], hn::Shr(word, count_[i]));
      lo_[i] = hn::Or(lo_[i], hn::Shl(word, hn::Sub(set(32), count_[i])));
      count_[i] = hn::Or(count_[i], set(32));
    }
    return true;
  }

  /// Whether the stream is used up and lanes hold one buffer each, which are stored.
  bool finish(StreamEnds& ends) const {
    Vector wrong = hn::Zero(Tag());
    for (std::size_t i = 0; i < vectors; ++i) {
      wrong = hn::Or(wrong, hn::Xor(count_[i], set(32)));
    }
    store_lanes(hi_, ends.first_buffer);
    return !any_set(wrong) && left_ == 0;
  }

 private:
  Lanes hi_, lo_, count_;
  const std::uint32_t* stream_;
  std::ptrdiff_t left_;
};

template <bool whole>
class Decoder {
 public:
  Decoder(TileExtent extent, const TilePlan& plan)
      : setup_(make_setup(extent, plan)), tables_(coding_tables()) {
    const Lanes starts = class_halves(plan, [](auto k) { return k * state_count; });
    for (std::size_t i = 0; i < vectors; ++i) {
      starts_[0][i] =
          hn::Add(take_half<0>(starts[i]),
                  set(static_cast<std::uint32_t>(CodingTables::front_pad) - state_count));
      starts_[1][i] =
          hn::Add(take_half<1>(starts[i]),
                  set(static_cast<std::uint32_t>(CodingTables::front_pad) - state_count));
    }
  }

  bool run(Reader& in, StreamEnds& ends, std::uint16_t* words) {
    Lanes state;
    for (std::size_t i = 0; i < vectors; ++i) {
      state[i] = hn::Add(set(state_count), hn::ShiftRight<32 - state_bits>(in.peek(i)));
      in.skip(i, set(state_bits));
    }
    if (!in.refill()) return false;
    Lanes above = set_lanes(0);
    for (std::uint32_t first = 0; first < setup_.rows; first += chunk_rows) {
      const std::uint32_t rows = std::min(chunk_rows, setup_.rows - first);
      alignas(64) std::uint32_t coded[chunk_rows][max_lanes];
      alignas(64) std::uint32_t escapes[chunk_rows][max_lanes];
      Vector any_escape = hn::Zero(Tag());
      for (std::uint32_t i = 0; i < rows; ++i) {
        Lanes fields[2];
        step<0>(first + i, state, in, fields[0]);
        if (2 * i % 3 == 2 && !in.refill()) return false;
        step<1>(first + i, state, in, fields[1]);
        if (((2 * i + 1) % 3 == 2 || i + 1 == rows) && !in.refill()) return false;
        any_escape = hn::Or(any_escape, assemble(first + i, fields, coded[i], escapes[i]));
      }
      if (HWY_UNLIKELY(any_set(any_escape))) {
        for (std::uint32_t i = 0; i < rows; ++i) {
          if (!take_payloads(in, coded[i], escapes[i])) return false;
        }
      }
      for (std::uint32_t i = 0; i < rows; ++i) {
        const Lanes row = load_lanes(coded[i]);
        for (std::size_t j = 0; j < vectors; ++j) {
          Vector change = hn::And(above[j], setup_.change[j]);
          if constexpr (!whole) change = hn::And(change, setup_.valid(first + i)[j]);
          above[j] = hn::Xor(row[j], change);
        }
        store_lanes(above, words + (first + i) * pitch);
      }
    }
    store_lanes(state, ends.first_state);
    return in.finish(ends);
  }

 private:
  template <int half>
  HWY_INLINE void step(std::uint32_t r, Lanes& state, Reader& in, Lanes& fields) const {
    for (std::size_t i = 0; i < vectors; ++i) {
      Vector entry = gather_upper(tables_.decode, hn::Add(state[i], starts_[half][i]));
      Vector n = bits_to_take(entry);
      Vector next = in.peek_behind(i, hn::ShiftRight<22>(entry), n);
      if constexpr (!whole) {
        const Mask idle = take_half<half>(setup_.valid(r)[i]) == hn::Zero(Tag());
        entry = hn::IfThenZeroElse(idle, entry);
        n = hn::IfThenZeroElse(idle, n);
        next = hn::IfThenElse(idle, state[i], next);
      }
      in.skip(i, n);
      state[i] = next;
      fields[i] = entry;
    }
  }

  /// Makes coded words of both channels' table entries; gives what is not 0 where one escaped.
  HWY_INLINE Vector assemble(std::uint32_t r, const Lanes* fields, std::uint32_t* coded,
                             std::uint32_t* escapes) const {
    Vector any = hn::Zero(Tag());
    for (std::size_t i = 0; i < vectors; ++i) {
      const Vector even = hn::ShiftRight<16>(hn::And(fields[0][i], set(0x003f0000)));
      const Vector both = hn::Or(even, hn::And(fields[1][i], set(0x003f0000)));
      const Vector distance = hn::And(both, set(0x000f000f));
      const Vector exponent = hn::And(subtract_halves(setup_.tops[i], distance), set(0x00ff00ff));
      const Vector sign = hn::ShiftLeft<11>(hn::And(both, set(0x00100010)));
      const Vector top_bit = hn::ShiftLeft<1>(hn::And(both, set(0x00200020)));
      const Vector rest = hn::Or(sign, top_bit);
      Vector word = hn::Or(hn::ShiftLeft<7>(exponent), rest);
      if constexpr (!whole) word = hn::And(word, setup_.valid(r)[i]);
      const Vector escape = hn::And(hn::Add(distance, set(0x00010001)), set(0x00100010));
      hn::StoreU(word, Tag(), coded + i * lanes_a_vector);
      hn::StoreU(escape, Tag(), escapes + i * lanes_a_vector);
      any = hn::Or(any, escape);
    }
    return any;
  }

  /// Replaces the row's escaped words by their payloads.
  static bool take_payloads(Reader& in, std::uint32_t* coded, const std::uint32_t* escapes) {
    Lanes row = load_lanes(coded);
    const Lanes escape = load_lanes(escapes);
    Vector any = hn::Zero(Tag());
    for (std::size_t i = 0; i < vectors; ++i) any = hn::Or(any, escape[i]);
    if (!any_set(any)) return true;
    for (std::size_t i = 0; i < vectors; ++i) {
      row[i] = take_payload<0>(in, i, row[i], escape[i]);
      row[i] = take_payload<1>(in, i, row[i], escape[i]);
    }
    store_lanes(row, coded);
    return in.refill();
  }

  template <int half>
  static HWY_INLINE Vector take_payload(Reader& in, std::size_t i, Vector row, Vector escape) {
    const Mask none = take_half<half>(escape) == hn::Zero(Tag());
    const Vector bits = hn::ShiftRight<21>(in.peek(i));
    const Mask zero = hn::And(bits, set(1024)) == hn::Zero(Tag());
    const Vector exponent = hn::ShiftLeft<7>(hn::And(hn::ShiftRight<2>(bits), set(255)));
    const Vector sign = hn::ShiftLeft<15>(hn::And(hn::ShiftRight<1>(bits), set(1)));
    const Vector top_bit = hn::ShiftLeft<6>(hn::And(bits, set(1)));
    const Vector word = hn::IfThenZeroElse(zero, hn::Or(hn::Or(exponent, sign), top_bit));
    in.skip(i, hn::IfThenZeroElse(none, hn::IfThenElse(zero, set(1), set(11))));
    const Vector cleared = hn::And(row, set(half == 0 ? 0xffff0000 : 0x0000ffff));
    const Vector placed = half == 0 ? word : hn::ShiftLeft<16>(word);
    return hn::IfThenElse(none, row, hn::Or(cleared, placed));
  }

  Setup setup_;
  Lanes starts_[2];
  const CodingTables& tables_;
};

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_DECODER_INL_H_
