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

/// The table entry of a symbol.
struct Entry {
  Vector size;    ///< its upper half; (size + (state << 16)) >> 27 is the number of bits,
  Vector offset;  ///< and this + (state >> bits) leads to the next state
};

#if HWY_TARGET <= HWY_AVX3

/// Finds entries class by class, by permutes of the class's 64 entries: less work than a gather of
/// each, even with all the classes there are.
class EntryFinder {
 public:
  explicit EntryFinder(const TilePlan& plan) : tables_(coding_tables()) {
    const __m512i classes = _mm512_loadu_si512(plan.class_of);
    for (std::uint32_t k = 0; k < class_count; ++k) {
      std::uint64_t channels =
          _mm512_cmpeq_epi8_mask(classes, _mm512_set1_epi8(static_cast<char>(k)));
      for (Part& part : parts_) {
        // Kept in any case, and overwritten by the next class where the vector has none of this.
        part.starts[part.classes] = k * std::uint32_t{CodingTables::symbols_per_class};
        part.channels[part.classes] = static_cast<std::uint32_t>(channels);
        part.classes += static_cast<std::uint32_t>(channels) != 0;
        channels >>= channels_a_part;
      }
    }
  }

  /// The entries of a vector's lanes in one row.
  struct Found {
    alignas(64) std::uint32_t sizes[lanes_a_vector];
    alignas(64) std::uint32_t offsets[lanes_a_vector];

    template <int half>
    HWY_INLINE Entry entry() const {
      const Vector both_sizes = hn::Load(Tag(), sizes);
      const Vector both_offsets = hn::Load(Tag(), offsets);
      if constexpr (half == 0) {
        return {hn::ShiftLeft<16>(both_sizes), hn::And(both_offsets, set(0xffff))};
      }
      return {hn::And(both_sizes, set(0xffff0000)), hn::ShiftRight<16>(both_offsets)};
    }
  };

  /// Of `count` rows. A channel's symbol is replaced when its class has its turn, and left alone
  /// before and after.
  template <std::size_t count>
  HWY_INLINE void find(const Vector (&symbols)[count], std::size_t i,
                       Found (*found)[vectors]) const {
    const Part& part = parts_[i];
    __m512i sizes[count], offsets[count];
    for (std::size_t r = 0; r < count; ++r) sizes[r] = offsets[r] = symbols[r].raw;
    for (std::uint32_t k = 0; k < part.classes; ++k) {
      const std::uint16_t* size = tables_.symbol_sizes + part.starts[k];
      const std::uint16_t* offset = tables_.symbol_offsets + part.starts[k];
      const __m512i size_low = _mm512_load_si512(size);
      const __m512i size_high = _mm512_load_si512(size + 32);
      const __m512i offset_low = _mm512_load_si512(offset);
      const __m512i offset_high = _mm512_load_si512(offset + 32);
      for (std::size_t r = 0; r < count; ++r) {
        sizes[r] = _mm512_mask2_permutex2var_epi16(size_low, sizes[r], part.channels[k], size_high);
        offsets[r] =
            _mm512_mask2_permutex2var_epi16(offset_low, offsets[r], part.channels[k], offset_high);
      }
    }
    for (std::size_t r = 0; r < count; ++r) {
      _mm512_store_si512(found[r][i].sizes, sizes[r]);
      _mm512_store_si512(found[r][i].offsets, offsets[r]);
    }
  }

 private:
  static constexpr std::uint32_t channels_a_part = 2 * lanes_a_vector;

  /// The classes of the channels of one vector.
  struct Part {
    std::uint32_t classes{};
    std::uint32_t starts[class_count];
    std::uint32_t channels[class_count];
  };
  static_assert(channels_a_part == 32 && pitch == 64);
  Part parts_[vectors];
  const CodingTables& tables_;
};

#else

class EntryFinder {
 public:
  explicit EntryFinder(const TilePlan& plan)
      : starts_(class_halves(
            plan, [](auto k) { return k * static_cast<int>(CodingTables::symbols_per_class); })),
        tables_(coding_tables()) {}

  struct Found {
    alignas(64) std::uint32_t entries[2][lanes_a_vector];

    template <int half>
    HWY_INLINE Entry entry() const {
      const Vector both = hn::Load(Tag(), entries[half]);
      return {hn::And(both, set(0xffff0000)), hn::And(both, set(0xffff))};
    }
  };

  template <std::size_t count>
  HWY_INLINE void find(const Vector (&symbols)[count], std::size_t i,
                       Found (*found)[vectors]) const {
    for (std::size_t r = 0; r < count; ++r) {
      const Vector at = hn::Add(symbols[r], starts_[i]);
      hn::Store(gather(tables_.symbols, take_half<0>(at)), Tag(), found[r][i].entries[0]);
      hn::Store(gather(tables_.symbols, take_half<1>(at)), Tag(), found[r][i].entries[1]);
    }
  }

 private:
  Lanes starts_;
  const CodingTables& tables_;
};

#endif  // HWY_TARGET <= HWY_AVX3

/// One tile's encoder. `whole`: every lane has a value in every step.
template <bool whole>
class Encoder {
 public:
  Encoder(const std::uint16_t* words, TileExtent extent, const TilePlan& plan)
      : words_(words),
        setup_(make_setup(extent, plan)),
        limits_(class_halves(plan, [](auto k) { return class_models[k].distances; })),
        finder_(plan),
        states_(coding_tables().states) {}

  std::size_t run(StreamEnds& ends, std::uint32_t* stream) const {
    Writer out(ends.first_buffer, stream);
    // In the upper halves, as gathers bring them; what lies below is of no account.
    Lanes state = load_lanes(ends.first_state);
    for (std::size_t i = 0; i < vectors; ++i) state[i] = hn::ShiftLeft<16>(state[i]);
    Chunk chunk;
    for (std::uint32_t end = setup_.rows; end > 0;) {
      const std::uint32_t first = (end - 1) / chunk_rows * chunk_rows;
      prepare(first, chunk);
      if (HWY_UNLIKELY(chunk.escapes != 0)) {
        for (std::uint32_t r = end; r-- > first;) {
          if ((chunk.escapes >> (r - first) & 1) == 0) continue;
          push_payloads<1>(r, out);
          push_payloads<0>(r, out);
          out.emit();
        }
      }
      for (std::uint32_t i = end - first; i-- > 0;) {
        step<1>(first + i, chunk.found[i], state, out);
        if ((2 * i + 1) % 3 == 0) out.emit();
        step<0>(first + i, chunk.found[i], state, out);
        if (2 * i % 3 == 0) out.emit();
      }
      end = first;
    }
    for (std::size_t i = 0; i < vectors; ++i) {
      out.push(i, hn::ShiftRight<16>(state[i]), set(state_bits));
    }
    out.emit();
    out.finish(ends);
    return static_cast<std::size_t>(out.end() - stream);
  }

 private:
  static constexpr std::uint32_t rows_at_once = 4;

  struct Chunk {
    EntryFinder::Found found[chunk_rows][vectors];
    std::uint32_t escapes;  // a bit for each row
  };

  HWY_INLINE Row code(std::uint32_t r, std::size_t i) const {
    const auto* at =
        reinterpret_cast<const std::uint32_t*>(words_ + r * pitch) + i * lanes_a_vector;
    const Vector word = hn::LoadU(Tag(), at);
    const Vector above = r > 0 ? hn::LoadU(Tag(), at - max_lanes) : hn::Zero(Tag());
    const Vector exponent = hn::And(hn::ShiftRight<7>(word), set(0x00ff00ff));
    const Vector distance = hn::And(subtract_halves(setup_.tops[i], exponent), set(0x00ff00ff));
    return {hn::Xor(word, hn::And(above, setup_.change[i])), min_halves(distance, limits_[i])};
  }

  /// Finds the entries of the chunk that begins with row `first`. Not inlined: its vectors would
  /// drive the steps' out of their registers.
  HWY_NOINLINE void prepare(std::uint32_t first, Chunk& chunk) const {
    chunk.escapes = 0;
    for (std::uint32_t r = 0; r < chunk_rows; r += rows_at_once) {
      for (std::size_t i = 0; i < vectors; ++i) {
        chunk.escapes |= prepare(first + r, i, chunk.found + r) << r;
      }
    }
  }

  /// Gives a bit for each row in which one of the vector's lanes escapes.
  HWY_INLINE std::uint32_t prepare(std::uint32_t first, std::size_t i,
                                   EntryFinder::Found (*found)[vectors]) const {
    std::uint32_t escapes = 0;
    Vector symbols[rows_at_once];
    for (std::uint32_t j = 0; j < rows_at_once; ++j) {
      const std::uint32_t r = first + j;
      if (HWY_UNLIKELY(r >= setup_.rows)) {
        symbols[j] = hn::Zero(Tag());
        continue;
      }
      // The next tile's values often follow.
      _mm_prefetch(words_ + (r + setup_.rows) * pitch + 2 * i * lanes_a_vector, _MM_HINT_T1);
      const Row row = code(r, i);
      const auto limit = hn::BitCast(Halves(), limits_[i]);
      auto escaped = hn::BitCast(Halves(), row.distance) == limit;
      if constexpr (!whole) {
        const auto exists = hn::BitCast(Halves(), setup_.valid(r)[i]) != hn::Zero(Halves());
        escaped = hn::And(escaped, exists);
      }
      escapes |= static_cast<std::uint32_t>(!hn::AllFalse(Halves(), escaped)) << j;
      const Vector sign = hn::And(hn::ShiftRight<14>(row.coded), set(0x00020002));
      const Vector top_bit = hn::And(hn::ShiftRight<6>(row.coded), set(0x00010001));
      symbols[j] = hn::Or(hn::Or(hn::ShiftLeft<2>(row.distance), sign), top_bit);
    }
    finder_.find(symbols, i, found);
    return escapes;
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
  HWY_INLINE void step(std::uint32_t r, const EntryFinder::Found* found, Lanes& state,
                       Writer& out) const {
    for (std::size_t i = 0; i < vectors; ++i) {
      const Entry entry = found[i].template entry<half>();
      const Vector low_state = hn::ShiftRight<16>(state[i]);
      Vector n = hn::ShiftRight<27>(hn::Add(entry.size, state[i]));
      const Vector from = hn::Add(entry.offset, hn::Shr(low_state, n));
      if constexpr (whole) {
        state[i] = gather_upper(states_, from);
      } else {
        const Mask idle = take_half<half>(setup_.valid(r)[i]) == hn::Zero(Tag());
        n = hn::IfThenZeroElse(idle, n);
        const Vector next = gather_upper(states_, hn::IfThenElse(idle, set(state_count), from));
        state[i] = hn::IfThenElse(idle, state[i], next);
      }
      out.push(i, low_state, n);
    }
  }

  const std::uint16_t* words_;
  Setup setup_;
  Lanes limits_;
  EntryFinder finder_;
  const std::uint16_t* states_;
};

#endif  // OFFRAMP_DENSE_HAS_LANES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace offramp::exact_dense
HWY_AFTER_NAMESPACE();

#endif  // OFFRAMP_DENSE_ENCODER_INL_H_
