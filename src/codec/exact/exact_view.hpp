// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact/exact_kernels.hpp"
#include "core/bytes.hpp"

#include <offramp/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Values to planes, one value at a time (spec.md, Planes). Each view is a type with `Word`, the
// unsigned integer of a value's bits, and `get` and `add`: a plane's byte of a word, and the word's
// bits that a plane's byte holds. bf16, whose values share bits in pairs, has its own loops.

namespace offramp::exact {

template <class W, int exponent_shift, int exponent_bits, int high_bits>
struct SmallFloatView {
  using Word = W;
  static constexpr std::size_t planes = exponent_shift > high_bits ? 3 : 2;
  static constexpr W exponent_mask = static_cast<W>((1u << exponent_bits) - 1);
  static constexpr int sign_shift = exponent_shift + exponent_bits;
  static constexpr int low_bits = exponent_shift - high_bits;  // 8 where there is a third plane
  static constexpr W high_mask = static_cast<W>((1u << high_bits) - 1);

  static constexpr std::uint8_t get(W word, std::size_t plane) noexcept {
    if (plane == 0) return static_cast<std::uint8_t>((word >> exponent_shift) & exponent_mask);
    if (plane == 2) return static_cast<std::uint8_t>(word);
    return static_cast<std::uint8_t>(((word >> sign_shift) << high_bits) |
                                     ((word >> low_bits) & high_mask));
  }
  static constexpr W add(std::uint8_t byte, std::size_t plane) noexcept {
    if (plane == 0) return static_cast<W>((byte & exponent_mask) << exponent_shift);
    if (plane == 2) return byte;
    return static_cast<W>(((byte >> high_bits) & 1) << sign_shift | (byte & high_mask) << low_bits);
  }
};
using Fp16View = SmallFloatView<std::uint16_t, 10, 5, 2>;
using Fp8E4m3View = SmallFloatView<std::uint8_t, 3, 4, 3>;
using Fp8E5m2View = SmallFloatView<std::uint8_t, 2, 5, 2>;

struct Fp32View {
  using Word = std::uint32_t;
  static constexpr std::size_t planes = 4;
  static constexpr std::uint8_t get(Word word, std::size_t plane) noexcept {
    if (plane == 0) return static_cast<std::uint8_t>(word >> 23);
    if (plane == 1) return static_cast<std::uint8_t>((word >> 24 & 0x80) | (word >> 16 & 0x7f));
    return static_cast<std::uint8_t>(word >> (8 * (3 - plane)));
  }
  static constexpr Word add(std::uint8_t byte, std::size_t plane) noexcept {
    const Word b = byte;
    if (plane == 0) return b << 23;
    if (plane == 1) return (b & 0x80) << 24 | (b & 0x7f) << 16;
    return b << (8 * (3 - plane));
  }
};

// Moving the exponent's origin carries nothing into the sign: sign and x are put together anew.
struct Fp64View {
  using Word = std::uint64_t;
  static constexpr std::size_t planes = 8;
  static constexpr Word origin = 895;
  static constexpr std::uint8_t get(Word word, std::size_t plane) noexcept {
    const Word x = ((word >> 52) - origin) & 0x7ff;
    if (plane == 0) return static_cast<std::uint8_t>(x);
    if (plane == 1) {
      return static_cast<std::uint8_t>((word >> 63) << 7 | (x >> 8) << 4 | (word >> 48 & 0xf));
    }
    return static_cast<std::uint8_t>(word >> (8 * (7 - plane)));
  }
  // The sum of all planes' bits still has x where the exponent belongs; `finish` moves it back.
  static constexpr Word add(std::uint8_t byte, std::size_t plane) noexcept {
    const Word b = byte;
    if (plane == 0) return b << 52;
    if (plane == 1) return (b >> 7) << 63 | (b >> 4 & 7) << 60 | (b & 0xf) << 48;
    return b << (8 * (7 - plane));
  }
  static constexpr Word finish(Word word) noexcept {
    constexpr Word field = Word{0x7ff} << 52;
    return (word & ~field) | ((word + (origin << 52)) & field);
  }
};

template <class W, bool zigzag>
struct IntView {
  using Word = W;
  static constexpr std::size_t planes = sizeof(W);
  static constexpr std::uint8_t get(W word, std::size_t plane) noexcept {
    if constexpr (zigzag) {
      const W sign = static_cast<W>(W{0} - static_cast<W>(word >> (8 * sizeof(W) - 1)));
      word = static_cast<W>(static_cast<W>(word << 1) ^ sign);
    }
    return static_cast<std::uint8_t>(word >> (8 * (planes - 1 - plane)));
  }
  static constexpr W add(std::uint8_t byte, std::size_t plane) noexcept {
    return static_cast<W>(W{byte} << (8 * (planes - 1 - plane)));
  }
  static constexpr W finish(W word) noexcept {
    if constexpr (!zigzag) return word;
    const W sign = static_cast<W>(W{0} - static_cast<W>(word & 1));
    return static_cast<W>(static_cast<W>(word >> 1) ^ sign);
  }
};

template <class View>
concept HasFinish = requires(typename View::Word w) {
  View::finish(w);
};

template <class View>
[[nodiscard]] constexpr typename View::Word finish_word(typename View::Word word) noexcept {
  if constexpr (HasFinish<View>) {
    return View::finish(word);
  } else {
    return word;
  }
}

template <class View>
inline void split_view(const std::byte* values, std::size_t n, const Planes& planes) noexcept {
  using Word = typename View::Word;
  for (std::size_t p = 0; p < View::planes; ++p) {
    std::uint8_t* out = planes[p];
    for (std::size_t k = 0; k < n; ++k) {
      out[k] = View::get(load<Word>(values + k * sizeof(Word)), p);
    }
  }
}

template <class View>
inline void join_view(const Planes& planes, std::size_t n, std::byte* values) noexcept {
  using Word = typename View::Word;
  for (std::size_t k = 0; k < n; ++k) {
    Word word = 0;
    for (std::size_t p = 0; p < View::planes; ++p) {
      word = static_cast<Word>(word + View::add(planes[p][k], p));
    }
    store(values + k * sizeof(Word), finish_word<View>(word));
  }
}

inline void split_bf16(const std::byte* values, std::size_t n, const Planes& planes) noexcept {
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t neighbour = (k ^ 1) < n ? k ^ 1 : k;
    const unsigned word = load<std::uint16_t>(values + 2 * k);
    const unsigned sign = load<std::uint16_t>(values + 2 * neighbour) >> 15;
    planes[0][k] = static_cast<std::uint8_t>(word >> 7);
    planes[1][k] = static_cast<std::uint8_t>(word << 1 | sign);
  }
}

inline void join_bf16(const Planes& planes, std::size_t n, std::byte* values) noexcept {
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t neighbour = (k ^ 1) < n ? k ^ 1 : k;
    const unsigned sign = planes[1][neighbour] & 1u;
    store(values + 2 * k,
          static_cast<std::uint16_t>(sign << 15 | planes[0][k] << 7 | planes[1][k] >> 1));
  }
}

/// Calls `f.operator()<View>()` with the view of a dtype other than bf16.
template <class F>
inline void visit_view(DType dtype, bool zigzag, F&& f) {
  const auto integer = [&]<class W>(W) {
    if (zigzag) {
      f.template operator()<IntView<W, true>>();
    } else {
      f.template operator()<IntView<W, false>>();
    }
  };
  switch (dtype) {
    case DType::bf16:
      return;
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
      return integer(std::uint8_t{});
    case DType::i16:
    case DType::u16:
      return integer(std::uint16_t{});
    case DType::i32:
    case DType::u32:
      return integer(std::uint32_t{});
    case DType::i64:
    case DType::u64:
      return integer(std::uint64_t{});
  }
}

}  // namespace offramp::exact
