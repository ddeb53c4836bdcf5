// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/block/block.hpp"
#include "codec/exact/exact_view.hpp"
#include "codec/tiles/words.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Values in rows of any pitch, at any address, and their planes (spec.md, Planes). A value's plane
// bytes travel as one word, plane p in byte p.

namespace offramp::exact::block {

using tiles::visit_word;

/// n values in rows of a width; `pitch` elements from one row to the next.
template <class Byte>
struct RowsOf {
  Byte* data{};
  std::uint64_t pitch{};
  RowDivider divider{1};
  std::uint32_t n{};

  template <class Word>
  [[nodiscard]] OFFRAMP_DEVICE Byte* at(std::uint32_t k) const {
    const std::uint32_t row = divider.row(k);
    const std::uint64_t elem = row * pitch + (k - row * divider.width());
    return data + elem * sizeof(Word);
  }
};
using ConstRows = RowsOf<const std::byte>;
using Rows = RowsOf<std::byte>;

/// Values without gaps.
template <class Byte>
[[nodiscard]] OFFRAMP_DEVICE RowsOf<Byte> contiguous(Byte* data, std::uint32_t n) {
  return {data, tile_width, RowDivider(tile_width), n};
}

/// A bf16 word whose sign has been exchanged for its neighbour's.
struct Bf16View {
  using Word = std::uint16_t;
  static constexpr std::size_t planes = 2;
  static constexpr Word sign = 0x8000;
  static constexpr std::uint8_t get(Word word, std::size_t plane) noexcept {
    return static_cast<std::uint8_t>(plane == 0 ? word >> 7 : word << 1 | word >> 15);
  }
  static constexpr Word add(std::uint8_t byte, std::size_t plane) noexcept {
    return static_cast<Word>(plane == 0 ? byte << 7 : byte >> 1 | (byte & 1) << 15);
  }
};

/// The value that exchanges its sign with value k of n.
[[nodiscard]] constexpr std::uint32_t neighbour_of(std::uint32_t k, std::uint32_t n) {
  return (k ^ 1) < n ? k ^ 1 : k;
}

template <class View>
[[nodiscard]] OFFRAMP_DEVICE typename View::Word word_of(const ConstRows& values, std::uint32_t k) {
  using Word = typename View::Word;
  const Word word = load<Word>(values.at<Word>(k));
  if constexpr (std::is_same_v<View, Bf16View>) {
    const Word other = load<Word>(values.at<Word>(neighbour_of(k, values.n)));
    return static_cast<Word>((word & ~View::sign) | (other & View::sign));
  } else {
    return word;
  }
}

template <class View>
[[nodiscard]] constexpr std::uint64_t planes_of(typename View::Word word) {
  std::uint64_t planes = 0;
  for (std::size_t p = 0; p < View::planes; ++p) {
    planes |= std::uint64_t{View::get(word, p)} << (8 * p);
  }
  return planes;
}

/// The view of an integer dtype that zigzag makes of its plain one.
template <class View>
struct Zigzag {
  static constexpr bool exists = false;
};
template <class Word>
struct Zigzag<IntView<Word, false>> {
  static constexpr bool exists = true;
  using View = IntView<Word, true>;
};

/// Calls `f.operator()<View>()` with the view of a dtype.
template <class F>
OFFRAMP_DEVICE void visit_dtype(DType dtype, bool zigzag, F&& f) {
  switch (dtype) {
    case DType::bf16:
      return f.template operator()<Bf16View>();
    case DType::fp16:
      return f.template operator()<Fp16View>();
    case DType::fp32:
      return f.template operator()<Fp32View>();
    case DType::fp64:
      return f.template operator()<Fp64View>();
    case DType::fp8_e4m3:
      return f.template operator()<Fp8E4m3View>();
    case DType::fp8_e5m2:
      return f.template operator()<Fp8E5m2View>();
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return zigzag ? f.template operator()<IntView<std::uint8_t, true>>()
                    : f.template operator()<IntView<std::uint8_t, false>>();
    case DType::i16:
    case DType::u16:
      return zigzag ? f.template operator()<IntView<std::uint16_t, true>>()
                    : f.template operator()<IntView<std::uint16_t, false>>();
    case DType::i32:
    case DType::u32:
      return zigzag ? f.template operator()<IntView<std::uint32_t, true>>()
                    : f.template operator()<IntView<std::uint32_t, false>>();
    case DType::i64:
    case DType::u64:
      return zigzag ? f.template operator()<IntView<std::uint64_t, true>>()
                    : f.template operator()<IntView<std::uint64_t, false>>();
  }
}

/// The bits that are 1 in any, and in all, of the values' plane bytes.
struct PlaneBits {
  std::uint64_t any{};
  std::uint64_t all{};

  [[nodiscard]] constexpr std::uint8_t varying(std::uint32_t plane) const {
    return byte_of(any ^ all, plane);
  }
  [[nodiscard]] constexpr int varying_bits(std::uint32_t plane) const {
    return static_cast<int>(count_ones(varying(plane)));
  }
};

struct Statistics {
  PlaneBits bits;
  bool zigzag{};  ///< integers: whether fewer bits vary with it; `bits` are those of the choice
  std::uint32_t zeros{};
};

template <class View, class B>
OFFRAMP_DEVICE Statistics take_statistics_of(B& block, const ConstRows& values) {
  struct Seen {
    std::uint64_t ones, zeros;  // bits seen as 1 and as 0
    std::uint64_t zigzag_ones, zigzag_zeros;
    std::uint32_t zero_values, unused;
  };
  const Seen seen = block.reduce(
      values.n, Seen{},
      [&](std::uint32_t k) {
        const auto word = word_of<View>(values, k);
        // A zero's planes are not those of a zero word where the sign is the neighbour's.
        const bool is_zero =
            load<typename View::Word>(values.template at<typename View::Word>(k)) == 0;
        const std::uint64_t planes = planes_of<View>(word);
        Seen one{planes, ~planes, 0, 0, is_zero ? 1u : 0u, 0};
        if constexpr (Zigzag<View>::exists) {
          one.zigzag_ones = planes_of<typename Zigzag<View>::View>(word);
          one.zigzag_zeros = ~one.zigzag_ones;
        }
        return one;
      },
      [](const Seen& a, const Seen& b) {
        return Seen{a.ones | b.ones,
                    a.zeros | b.zeros,
                    a.zigzag_ones | b.zigzag_ones,
                    a.zigzag_zeros | b.zigzag_zeros,
                    a.zero_values + b.zero_values,
                    0};
      });
  Statistics statistics{{seen.ones, ~seen.zeros}, false, seen.zero_values};
  if constexpr (Zigzag<View>::exists) {
    if (count_ones(seen.zigzag_ones & seen.zigzag_zeros) < count_ones(seen.ones & seen.zeros)) {
      statistics.bits = {seen.zigzag_ones, ~seen.zigzag_zeros};
      statistics.zigzag = true;
    }
  }
  return statistics;
}

/// Of one value or more.
template <class B>
OFFRAMP_DEVICE Statistics take_statistics(B& block, DType dtype, const ConstRows& values) {
  Statistics statistics;
  visit_dtype(dtype, false,
              [&]<class View>() { statistics = take_statistics_of<View>(block, values); });
  return statistics;
}

/// Plane p begins at `planes + p * tile_values`.
[[nodiscard]] OFFRAMP_DEVICE inline std::uint8_t* plane_at(std::uint8_t* planes, std::uint32_t p) {
  return planes + std::size_t{p} * tile_values;
}

template <class B>
OFFRAMP_DEVICE void split(B& block, DType dtype, bool zigzag, const ConstRows& values,
                          std::uint8_t* planes) {
  visit_dtype(dtype, zigzag, [&]<class View>() {
    block.for_each(values.n, [&](std::uint32_t k) {
      const auto word = word_of<View>(values, k);
      for (std::uint32_t p = 0; p < View::planes; ++p) plane_at(planes, p)[k] = View::get(word, p);
    });
  });
}

template <class B>
OFFRAMP_DEVICE void join(B& block, DType dtype, bool zigzag, std::uint8_t* planes,
                         const Rows& values) {
  visit_dtype(dtype, zigzag, [&]<class View>() {
    using Word = typename View::Word;
    block.for_each(values.n, [&](std::uint32_t k) {
      Word word = 0;
      for (std::uint32_t p = 0; p < View::planes; ++p) {
        word = static_cast<Word>(word + View::add(plane_at(planes, p)[k], p));
      }
      if constexpr (std::is_same_v<View, Bf16View>) {
        const unsigned sign = plane_at(planes, 1)[neighbour_of(k, values.n)] & 1u;
        word = static_cast<Word>((word & ~View::sign) | sign << 15);
      }
      store(values.at<Word>(k), finish_word<View>(word));
    });
  });
}

/// Copies values between rows of different pitches.
template <class B>
OFFRAMP_DEVICE void copy_values(B& block, std::size_t elem_size, const ConstRows& from,
                                const Rows& to) {
  visit_word(elem_size, [&]<class Word>(Word) {
    block.for_each(from.n,
                   [&](std::uint32_t k) { store(to.at<Word>(k), load<Word>(from.at<Word>(k))); });
  });
}

}  // namespace offramp::exact::block
