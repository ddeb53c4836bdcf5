// SPDX-License-Identifier: Apache-2.0
// Included once for each target by dense_simd.cpp: symbols to the stream.
#if defined(OFFRAMP_DENSE_ENCODER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OFFRAMP_DENSE_ENCODER_INL_H_
#undef OFFRAMP_DENSE_ENCODER_INL_H_
#else
#define OFFRAMP_DENSE_ENCODER_INL_H_
#endif

#include "codec/exact_dense/coding_tables.hpp"
#include "codec/exact_dense/dense_kernels.hpp"
#include "codec/exact_dense/dense_setup-inl.h"

#include <bit>

HWY_BEFORE_NAMESPACE();
namespace offramp::exact_dense {
namespace HWY_NAMESPACE {
namespace {

#if OFFRAMP_DENSE_HAS_LANES

/// Words as their channels code them.
struct Row {
  Vector coded;     ///< the words, their signs xor the signs above where these are changes
  Vector distance;  ///< in halves; at the class's limit for escapes
};

/// The encoder's side of the lanes. The newest bits stand at the top of hi:lo.
class Writer {
 public:
  Writer(const std::uint32_t* first_buffer, std::uint32_t* out)
      : hi_(set_lanes(0)), lo_(hi_), count_(hi_), buffer_(load_lanes(first_buffer)), out_(out) {}

  /// Pushes the low `n` bits of `bits`.
  HWY_INLINE void push(std::size_t i, Vector bits, Vector n) {
    lo_[i] = funnel_right(lo_[i], hi_[i], n);
    hi_[i] = funnel_right(hi_[i], bits, n);
    count_[i] = hn::Add(count_[i], n);
  }

  /// Whole vectors are stored, and what is beyond the emitted words is overwritten later. A count
  /// has bit 5 exactly if it is 32 or more.
  HWY_INLINE void emit() {
    for (std::size_t i = 0; i < vectors; ++i) {
      const Mask full = hn::TestBit(count_[i], set(32));
      const unsigned bits = mask_bits(full);
      hn::StoreU(compress(buffer_[i], bits), Tag(), out_);
      out_ += std::popcount(bits);
      buffer_[i] = hn::IfThenElse(full, funnel_left(hi_[i], lo_[i], count_[i]), buffer_[i]);
      count_[i] = hn::And(count_[i], set(31));
    }
  }

  void finish(StreamEnds& ends) const {
    Lanes heads;
    for (std::size_t i = 0; i < vectors; ++i) {
      heads[i] = hn::Shr(hi_[i], hn::Sub(set(32), count_[i]));
    }
    store_lanes(heads, ends.head);
    store_lanes(count_, ends.head_bits);
    store_lanes(buffer_, ends.buffer);
  }

  [[nodiscard]] std::uint32_t* end() const { return out_; }

 private:
  Lanes hi_, lo_, count_, buffer_;
  std::uint32_t* out_;
};

/// One tile's encoder. `whole`: every lane has a value in every step.
template <bool whole>
class Encoder {
 public:
  Encoder(const std::uint16_t* words, TileExtent extent, const TilePlan& plan)
      : words_(words),
        setup_(make_setup(extent, plan)),
        limits_(class_halves(plan, [](auto k) { return class_models[k].distances; })),
        classes_(class_halves(
            plan, [](auto k) { return k * static_cast<int>(CodingTables::symbols_per_class); })),
        tables_(coding_tables()) {}

  std::size_t run(StreamEnds& ends, std::uint32_t* stream) {
    Writer out(ends.first_buffer, stream);
    Lanes state = load_lanes(ends.first_state);
    for (std::uint32_t end = setup_.rows; end > 0;) {
      const std::uint32_t first = (end - 1) / chunk_rows * chunk_rows;
      alignas(64) std::uint32_t symbols[chunk_rows][max_lanes];
      std::uint32_t escapes = 0;  // a bit for each row
      for (std::uint32_t r = first; r < end; ++r) {
        escapes |= static_cast<std::uint32_t>(find_symbols(r, symbols[r - first])) << (r - first);
      }
      if (HWY_UNLIKELY(escapes != 0)) {
        for (std::uint32_t r = end; r-- > first;) {
          if ((escapes >> (r - first) & 1) == 0) continue;
          push_payloads<1>(r, out);
          push_payloads<0>(r, out);
          out.emit();
        }
      }
      for (std::uint32_t i = end - first; i-- > 0;) {
        const Lanes row = load_lanes(symbols[i]);
        step<1>(first + i, row, state, out);
        if ((2 * i + 1) % 3 == 0) out.emit();
        step<0>(first + i, row, state, out);
        if (2 * i % 3 == 0) out.emit();
      }
      end = first;
    }
    for (std::size_t i = 0; i < vectors; ++i) out.push(i, state[i], set(state_bits));
    out.emit();
    out.finish(ends);
    return static_cast<std::size_t>(out.end() - stream);
  }

 private:
  HWY_INLINE Row code(std::uint32_t r, std::size_t i) const {
    const auto* at =
        reinterpret_cast<const std::uint32_t*>(words_ + r * pitch) + i * lanes_a_vector;
    const Vector word = hn::LoadU(Tag(), at);
    const Vector above = r > 0 ? hn::LoadU(Tag(), at - max_lanes) : hn::Zero(Tag());
    const Vector exponent = hn::And(hn::ShiftRight<7>(word), set(0x00ff00ff));
    const Vector distance = hn::And(subtract_halves(setup_.tops[i], exponent), set(0x00ff00ff));
    return {hn::Xor(word, hn::And(above, setup_.change[i])), min_halves(distance, limits_[i])};
  }

  /// Indices into CodingTables::symbols of both channels; true where one escapes.
  HWY_INLINE bool find_symbols(std::uint32_t r, std::uint32_t* symbols) const {
    Vector escapes = hn::Zero(Tag());
    for (std::size_t i = 0; i < vectors; ++i) {
      const Row row = code(r, i);
      Vector escaped = equal_halves(row.distance, limits_[i]);
      if constexpr (!whole) escaped = hn::And(escaped, setup_.valid(r)[i]);
      escapes = hn::Or(escapes, escaped);
      const Vector sign = hn::And(hn::ShiftRight<14>(row.coded), set(0x00020002));
      const Vector top_bit = hn::And(hn::ShiftRight<6>(row.coded), set(0x00010001));
      const Vector symbol = hn::Or(hn::Or(hn::ShiftLeft<2>(row.distance), sign), top_bit);
      hn::StoreU(hn::Add(symbol, classes_[i]), Tag(), symbols + i * lanes_a_vector);
    }
    return any_set(escapes);
  }

  template <int half>
  HWY_INLINE void push_payloads(std::uint32_t r, Writer& out) const {
    for (std::size_t i = 0; i < vectors; ++i) {
      const Row row = code(r, i);
      Vector escaped = equal_halves(row.distance, limits_[i]);
      if constexpr (!whole) escaped = hn::And(escaped, setup_.valid(r)[i]);
      escaped = take_half<half>(escaped);
      const Vector word = take_half<half>(row.coded);
      const Vector exponent = hn::And(hn::ShiftRight<7>(word), set(255));
      const Vector sign = hn::ShiftRight<15>(word);
      const Vector top_bit = hn::And(hn::ShiftRight<6>(word), set(1));
      const Vector bits =
          hn::Or(hn::Or(hn::ShiftLeft<2>(exponent), hn::ShiftLeft<1>(sign)), top_bit);
      const Mask zero = bits == hn::Zero(Tag());
      const Vector payload = hn::IfThenZeroElse(zero, hn::Or(bits, set(1024)));
      const Vector size = hn::IfThenElse(zero, set(1), set(11));
      out.push(i, payload, hn::IfThenZeroElse(escaped == hn::Zero(Tag()), size));
    }
  }

  template <int half>
  HWY_INLINE void step(std::uint32_t r, const Lanes& row, Lanes& state, Writer& out) const {
    for (std::size_t i = 0; i < vectors; ++i) {
      const Vector entry = gather(tables_.symbols, take_half<half>(row[i]));
      Vector n = hn::ShiftRight<27>(hn::Add(entry, hn::ShiftLeft<16>(state[i])));
      const Vector from = hn::Add(hn::And(entry, set(0xffff)), hn::Shr(state[i], n));
      Vector next;
      if constexpr (whole) {
        next = hn::ShiftRight<16>(gather_upper(tables_.states, from));
      } else {
        const Mask idle = take_half<half>(setup_.valid(r)[i]) == hn::Zero(Tag());
        n = hn::IfThenZeroElse(idle, n);
        next = hn::IfThenElse(idle, state[i],
                              hn::ShiftRight<16>(gather_upper(
                                  tables_.states, hn::IfThenElse(idle, set(state_count), from))));
      }
      out.push(i, state[i], n);
      state[i] = next;
    }
  }

  const std::uint16_t* words_;
  Setup setup_;
  Lanes limits_, classes_;
  const CodingTables& tables_;
};

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_ENCODER_INL_H_
