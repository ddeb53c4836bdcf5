// SPDX-License-Identifier: Apache-2.0
// What one thread of a GPU converts: four columns of two rows, which are whole words of every
// format. Compiled for the host too, where the tests run the same source.
#pragma once

#include "frames/convert_plan.hpp"
#include "frames/pixel_math.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDA_ARCH__
#include <cuda_fp16.h>
#define OFFRAMP_UNROLL _Pragma("unroll")
#else
#define OFFRAMP_UNROLL
#endif

namespace offramp::frames {

inline constexpr std::uint32_t patch_width = 4;
inline constexpr std::uint32_t patch_height = 2;

/// How channels lie, for loads of whole words.
enum class PatchLay : std::uint8_t { planes, three, four, strided };

/// Sources: as they lie in memory, and as float32.
struct PatchFp32 {
  using Lane = float;
  OFFRAMP_PIXEL_FN static float value(Lane lane) { return lane; }
};
struct PatchFp16 {
  using Lane = std::uint16_t;
  OFFRAMP_PIXEL_FN static float value(Lane lane) {
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(lane));
#else
    return half_value(lane);
#endif
  }
};
struct PatchBf16 {
  using Lane = std::uint16_t;
  OFFRAMP_PIXEL_FN static float value(Lane lane) { return bfloat_value(lane); }
};
template <class Word>
struct PatchInteger {
  using Lane = Word;
  OFFRAMP_PIXEL_FN static float value(Lane lane) { return static_cast<float>(lane); }
};

/// Where words of `size` bytes may be loaded or stored at once.
OFFRAMP_PIXEL_FN bool is_aligned(const std::byte* at, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(at) % size == 0;
}

template <class Word>
OFFRAMP_PIXEL_FN Word load_word(const std::byte* at) {
#ifdef __CUDA_ARCH__
  return __ldg(reinterpret_cast<const Word*>(at));
#else
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
#endif
}

template <class Word>
OFFRAMP_PIXEL_FN void store_word(std::byte* at, Word word) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<Word*>(at) = word;
#else
  std::memcpy(at, &word, sizeof word);
#endif
}

#ifdef __CUDACC__
using Word16 = uint4;
using Word8 = uint2;
#else
struct alignas(16) Word16 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) Word8 {
  std::uint32_t x, y;
};
#endif

template <class Source, class Code>
class Patch {
 public:
  using Lane = typename Source::Lane;

  OFFRAMP_PIXEL_FN Patch(const ConvertPlan& plan, PatchLay lay, std::uint64_t frame,
                         std::uint32_t x, std::uint32_t y)
      : plan_(plan),
        lay_(lay),
        from_(plan.from + static_cast<std::int64_t>(frame) * plan.frame_stride),
        to_(plan.to + frame * plan.frame_size),
        x_(x * patch_width),
        y_(y * patch_height),
        columns_(plan.width - x_ < patch_width ? plan.width - x_ : patch_width),
        rows_(plan.height - y_ < patch_height ? plan.height - y_ : patch_height) {}

  OFFRAMP_PIXEL_FN void convert() {
    load_row(0);
    load_row(1);
    switch (plan_.pixels) {
      case PixelFormat::gray8:
      case PixelFormat::gray16:
        return pack<1>();
      case PixelFormat::rgb24:
      case PixelFormat::rgb48:
        return pack<3>();
      case PixelFormat::rgba32:
      case PixelFormat::rgba64:
        return pack<4>();
      case PixelFormat::yuv444p:
      case PixelFormat::yuv444p10:
        return full();
      default:
        return subsampled();
    }
  }

 private:
  OFFRAMP_PIXEL_FN float unit(Lane lane) const {
    return unit_of(Source::value(lane), plan_.scaling);
  }

  // Of a frame's last row, where there is none.
  OFFRAMP_PIXEL_FN const std::byte* row_of(std::uint32_t row) const {
    const std::uint32_t y = y_ + row < plan_.height ? y_ + row : plan_.height - 1;
    return from_ + static_cast<std::int64_t>(y) * plan_.row_stride;
  }

  template <int count>
  OFFRAMP_PIXEL_FN static void load_run(const std::byte* at, Lane (&lanes)[count]) {
    using Word = std::conditional_t<sizeof(Lane) == 4, Word16,
                                    std::conditional_t<sizeof(Lane) == 2, Word8, std::uint32_t>>;
    static_assert(sizeof(Word) == 4 * sizeof(Lane) && count % 4 == 0);
    if (is_aligned(at, sizeof(Word))) {
      OFFRAMP_UNROLL
      for (int i = 0; i < count / 4; ++i) {
        const Word word = load_word<Word>(at + i * sizeof(Word));
        std::memcpy(&lanes[4 * i], &word, sizeof word);
      }
    } else {
      OFFRAMP_UNROLL
      for (int i = 0; i < count; ++i) lanes[i] = load_word<Lane>(at + i * sizeof(Lane));
    }
  }

  template <int channels>
  OFFRAMP_PIXEL_FN void load_pixels(const std::byte* at, std::uint32_t row) {
    Lane lanes[4 * channels];
    load_run(at, lanes);
    OFFRAMP_UNROLL
    for (int x = 0; x < 4; ++x) {
      OFFRAMP_UNROLL
      for (int c = 0; c < channels; ++c) units_[row][x][c] = unit(lanes[x * channels + c]);
    }
  }

  OFFRAMP_PIXEL_FN void load_row(std::uint32_t row) {
    const std::byte* const begin = row_of(row);
    const std::byte* const at = begin + static_cast<std::int64_t>(x_) * plan_.column_stride;
    if (columns_ < patch_width || lay_ == PatchLay::strided) {
      OFFRAMP_UNROLL
      for (std::uint32_t x = 0; x < patch_width; ++x) load_pixel(begin, x_ + x, units_[row][x]);
      return;
    }
    if (lay_ == PatchLay::three) {
      load_pixels<3>(at, row);
    } else if (lay_ == PatchLay::four) {
      load_pixels<4>(at, row);
    } else {
      OFFRAMP_UNROLL
      for (std::uint32_t c = 0; c < 4; ++c) {
        if (c >= plan_.channels) break;
        Lane lanes[4];
        load_run(at + static_cast<std::int64_t>(c) * plan_.channel_stride, lanes);
        OFFRAMP_UNROLL
        for (int x = 0; x < 4; ++x) units_[row][x][c] = unit(lanes[x]);
      }
    }
    if (plan_.channels == 1) {
      OFFRAMP_UNROLL
      for (int x = 0; x < 4; ++x) units_[row][x][1] = units_[row][x][2] = units_[row][x][0];
    }
  }

  // Of the last column, where there is none.
  OFFRAMP_PIXEL_FN void load_pixel(const std::byte* row, std::uint32_t x, float (&units)[4]) const {
    const std::uint32_t column = x < plan_.width ? x : plan_.width - 1;
    const std::byte* const at = row + static_cast<std::int64_t>(column) * plan_.column_stride;
    OFFRAMP_UNROLL
    for (std::uint32_t c = 0; c < 4; ++c) {
      if (c >= plan_.channels) break;
      units[c] = unit(load_word<Lane>(at + static_cast<std::int64_t>(c) * plan_.channel_stride));
    }
    if (plan_.channels == 1) units[1] = units[2] = units[0];
  }

  // Codes side by side; `count` of them are inside the frame.
  template <int most>
  OFFRAMP_PIXEL_FN static void store_run(std::byte* to, const Code (&codes)[most],
                                         std::uint32_t count) {
    constexpr std::size_t size = most * sizeof(Code);
    using Word = std::conditional_t<size % 4 == 0, std::uint32_t, std::uint16_t>;
    if (count == most && is_aligned(to, sizeof(Word))) {
      OFFRAMP_UNROLL
      for (std::size_t i = 0; i < size / sizeof(Word); ++i) {
        Word word;
        std::memcpy(&word, reinterpret_cast<const std::byte*>(codes) + i * sizeof(Word),
                    sizeof word);
        store_word(to + i * sizeof(Word), word);
      }
      return;
    }
    OFFRAMP_UNROLL
    for (int i = 0; i < most; ++i) {
      if (static_cast<std::uint32_t>(i) >= count) break;
      OFFRAMP_UNROLL
      for (std::size_t byte = 0; byte < sizeof(Code); ++byte) {  // at any address
        to[i * sizeof(Code) + byte] = static_cast<std::byte>(codes[i] >> 8 * byte);
      }
    }
  }

  template <int channels>
  OFFRAMP_PIXEL_FN void pack() const {
    OFFRAMP_UNROLL
    for (std::uint32_t row = 0; row < patch_height; ++row) {
      if (row >= rows_) break;
      Code codes[4 * channels];
      OFFRAMP_UNROLL
      for (int x = 0; x < 4; ++x) {
        OFFRAMP_UNROLL
        for (int c = 0; c < channels; ++c) {
          codes[x * channels + c] = static_cast<Code>(code_of(units_[row][x][c], plan_.top));
        }
      }
      const std::size_t first = (std::size_t{y_} + row) * plan_.width + x_;
      store_run(to_ + first * channels * sizeof(Code), codes, columns_ * channels);
    }
  }

  OFFRAMP_PIXEL_FN static Rgb rgb(const float (&units)[4]) {
    return {units[0], units[1], units[2]};
  }

  OFFRAMP_PIXEL_FN void plane(const YuvRow& by, std::byte* to) const {
    OFFRAMP_UNROLL
    for (std::uint32_t row = 0; row < patch_height; ++row) {
      if (row >= rows_) break;
      Code codes[4];
      OFFRAMP_UNROLL
      for (int x = 0; x < 4; ++x) {
        codes[x] = static_cast<Code>(yuv_code(by, plan_.matrix.top, rgb(units_[row][x])));
      }
      const std::size_t first = (std::size_t{y_} + row) * plan_.width + x_;
      store_run(to + first * sizeof(Code), codes, columns_);
    }
  }

  OFFRAMP_PIXEL_FN std::size_t plane_size() const {
    return std::size_t{plan_.width} * plan_.height * sizeof(Code);
  }

  OFFRAMP_PIXEL_FN void full() const {
    plane(plan_.matrix.y, to_);
    plane(plan_.matrix.u, to_ + plane_size());
    plane(plan_.matrix.v, to_ + 2 * plane_size());
  }

  OFFRAMP_PIXEL_FN void subsampled() const {
    plane(plan_.matrix.y, to_);
    Rgb sums[5];  // of the column left of the patch, and its own
    OFFRAMP_UNROLL
    for (int x = 0; x < 4; ++x) sums[x + 1] = sum_of(rgb(units_[0][x]), rgb(units_[1][x]));
    sums[0] = sums[1];
    if (x_ > 0) {
      float upper[4]{};
      float lower[4]{};
      load_pixel(row_of(0), x_ - 1, upper);
      load_pixel(row_of(1), x_ - 1, lower);
      sums[0] = sum_of(rgb(upper), rgb(lower));
    }
    Code u[2];
    Code v[2];
    OFFRAMP_UNROLL
    for (int pair = 0; pair < 2; ++pair) {
      const Rgb& middle = sums[2 * pair + 1];
      const Rgb all = sum_of(sum_of(sums[2 * pair], sums[2 * pair + 2]), sum_of(middle, middle));
      u[pair] = static_cast<Code>(yuv_code(plan_.matrix.u, plan_.matrix.top, all));
      v[pair] = static_cast<Code>(yuv_code(plan_.matrix.v, plan_.matrix.top, all));
    }
    const std::size_t width = plan_.width / 2 + plan_.width % 2;
    const std::size_t height = plan_.height / 2 + plan_.height % 2;
    std::byte* const to = to_ + plane_size() + (y_ / 2 * width + x_ / 2) * sizeof(Code);
    store_run(to, u, (columns_ + 1) / 2);
    store_run(to + width * height * sizeof(Code), v, (columns_ + 1) / 2);
  }

  const ConvertPlan& plan_;
  PatchLay lay_;
  const std::byte* from_;
  std::byte* to_;
  std::uint32_t x_;
  std::uint32_t y_;
  std::uint32_t columns_;  // that are inside the frame
  std::uint32_t rows_;
  float units_[patch_height][patch_width][4];
};

/// What a plan's channels allow.
[[nodiscard]] inline PatchLay patch_lay(const ConvertPlan& plan) noexcept {
  const auto size = static_cast<std::int64_t>(size_of(plan.dtype));
  if (plan.column_stride == size) return PatchLay::planes;
  if (plan.channel_stride == size) {
    if (plan.channels == 3 && plan.column_stride == 3 * size) return PatchLay::three;
    if (plan.stored_channels == 4 && plan.column_stride == 4 * size) return PatchLay::four;
  }
  return PatchLay::strided;
}

}  // namespace offramp::frames
