// SPDX-License-Identifier: Apache-2.0
// The host's conversion: pieces of rows become units in a buffer that stays in the second cache,
// and from there codes.
#include "core/bytes.hpp"
#include "frames/convert_plan.hpp"
#include "frames/device_convert.hpp"
#include "frames/row_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace offramp::frames {
namespace {

// Columns of a piece: even, so that no pair of columns is cut. Two rows are read piece by piece in
// turn, which processors foresee the worse the shorter pieces are.
constexpr std::size_t piece_width = 1024;
constexpr std::size_t plane_size = piece_width + 2 + slack;

template <class Lane, class Value>
void gather(const std::byte* from, std::int64_t stride, std::size_t n, const Scaling& by,
            Value value, float* to) noexcept {
  for (std::size_t x = 0; x < n; ++x) {
    to[x] = unit_of(value(load<Lane>(from)), by);
    from += stride;
  }
}

class RowsConverter {
 public:
  explicit RowsConverter(const ConvertPlan& plan) noexcept
      : plan_(plan),
        kernels_(row_kernels()),
        value_size_(static_cast<std::int64_t>(size_of(plan.dtype))),
        code_size_(bits_of(plan.pixels) > 8 ? 2 : 1),
        unpack_(kernels_.unpack[source_index(plan.dtype)]) {}

  void convert(const std::byte* from, std::byte* to) noexcept {
    if (!is_yuv(plan_.pixels)) {
      if (!flat(from, to)) packed(from, to);
    } else if (is_subsampled(plan_.pixels)) {
      subsampled(from, to);
    } else {
      full(from, to);
    }
  }

 private:
  // A channel or a whole pixel's channels side by side, in the format's own order: one long row.
  bool flat(const std::byte* from, std::byte* to) noexcept {
    const auto channels = static_cast<std::uint32_t>(channels_of(plan_.pixels));
    const bool whole_pixels = channels == plan_.channels &&
                              (channels == 1 || plan_.channel_stride == value_size_) &&
                              (plan_.width == 1 || plan_.column_stride == value_size_ * channels);
    if (!whole_pixels) return false;
    std::size_t n = std::size_t{plan_.width} * channels;
    std::size_t rows = plan_.height;
    if (plan_.row_stride == static_cast<std::int64_t>(n) * value_size_) {
      n *= rows;
      rows = 1;
    }
    const auto& table = code_size_ == 1 ? kernels_.flat8 : kernels_.flat16;
    for (std::size_t y = 0; y < rows; ++y) {
      const std::byte* const row = from + static_cast<std::int64_t>(y) * plan_.row_stride;
      if (plan_.is_copy) {
        std::memcpy(to, row, n * code_size_);
      } else {
        table[source_index(plan_.dtype)](row, n, plan_.scaling, to);
      }
      to += n * code_size_;
    }
    return true;
  }

  // Units of `n` pixels of a row, into `to`.
  void unpack(const std::byte* row, std::size_t x, std::size_t n, const Planes& to) noexcept {
    const std::byte* at = row + static_cast<std::int64_t>(x) * plan_.column_stride;
    const std::uint32_t channels = plan_.channels;
    if (channels == 1 || plan_.column_stride == value_size_) {
      const bool dense = plan_.column_stride == value_size_;
      for (std::uint32_t c = 0; c < channels; ++c) {
        if (dense) {
          unpack_[0](at, n, plan_.scaling, {to[c]});
        } else {
          gather_channel(at, n, to[c]);
        }
        at += plan_.channel_stride;
      }
      return;
    }
    std::size_t done = 0;
    if (plan_.channel_stride == value_size_) {
      if (channels == 3 && plan_.column_stride == 3 * value_size_) {
        unpack_[1](at, n, plan_.scaling, to);
        return;
      }
      if (plan_.column_stride == 4 * value_size_) {
        // The last pixel of three channels out of four may be the end of the memory.
        done = plan_.stored_channels == 4 ? n : n - 1;
        unpack_[2](at, done, plan_.scaling, {to[0], to[1], to[2], channels == 4 ? to[3] : nullptr});
      }
    }
    at += static_cast<std::int64_t>(done) * plan_.column_stride;
    for (std::uint32_t c = 0; c < channels && done < n; ++c) {
      gather_channel(at, n - done, to[c] + done);
      at += plan_.channel_stride;
    }
  }

  void gather_channel(const std::byte* from, std::size_t n, float* to) noexcept {
    const std::int64_t stride = plan_.column_stride;
    const auto as = [](auto lane) noexcept { return static_cast<float>(lane); };
    switch (plan_.dtype) {
      case DType::fp32:
        return gather<float>(from, stride, n, plan_.scaling, as, to);
      case DType::fp16:
        return gather<std::uint16_t>(from, stride, n, plan_.scaling, half_value, to);
      case DType::bf16:
        return gather<std::uint16_t>(from, stride, n, plan_.scaling, bfloat_value, to);
      case DType::u16:
        return gather<std::uint16_t>(from, stride, n, plan_.scaling, as, to);
      default:
        return gather<std::uint8_t>(from, stride, n, plan_.scaling, as, to);
    }
  }

  // One gray channel stands for all three.
  ConstPlanes colours(const Planes& units) const noexcept {
    if (plan_.channels == 1) return {units[0], units[0], units[0], units[0]};
    return {units[0], units[1], units[2], units[3]};
  }

  template <class Piece>
  void for_pieces(const Piece& piece) const noexcept {
    for (std::size_t x = 0; x < plan_.width; x += piece_width) {
      piece(x, std::min<std::size_t>(piece_width, plan_.width - x));
    }
  }

  void packed(const std::byte* from, std::byte* to) noexcept {
    const auto channels = static_cast<std::size_t>(channels_of(plan_.pixels));
    const auto pack = code_size_ == 1 ? kernels_.pack8 : kernels_.pack16;
    for (std::size_t y = 0; y < plan_.height; ++y) {
      for_pieces([&](std::size_t x, std::size_t n) {
        unpack(from, x, n, upper_);
        pack(colours(upper_), n, channels, to);
        to += n * channels * code_size_;
      });
      from += plan_.row_stride;
    }
  }

  RowKernels::Yuv yuv() const noexcept { return code_size_ == 1 ? kernels_.yuv8 : kernels_.yuv16; }

  void full(const std::byte* from, std::byte* to) noexcept {
    const std::size_t plane = std::size_t{plan_.width} * plan_.height * code_size_;
    const YuvMatrix& matrix = plan_.matrix;
    for (std::size_t y = 0; y < plan_.height; ++y) {
      for_pieces([&](std::size_t x, std::size_t n) {
        unpack(from, x, n, upper_);
        const ConstPlanes units = colours(upper_);
        yuv()(units, n, matrix.y, matrix.top, to);
        yuv()(units, n, matrix.u, matrix.top, to + plane);
        yuv()(units, n, matrix.v, matrix.top, to + 2 * plane);
        to += n * code_size_;
      });
      from += plan_.row_stride;
    }
  }

  void subsampled(const std::byte* from, std::byte* to) noexcept {
    const std::size_t half_width = plan_.width / 2 + plan_.width % 2;
    const std::size_t half_height = plan_.height / 2 + plan_.height % 2;
    const std::size_t row = plan_.width * code_size_;
    std::byte* u = to + row * plan_.height;
    std::byte* v = u + half_width * half_height * code_size_;
    for (std::size_t y = 0; y < plan_.height; y += 2) {
      const bool has_lower = y + 1 < plan_.height;
      for_pieces([&](std::size_t x, std::size_t n) {
        pair(from, has_lower, x, n, to + x * code_size_);
        const std::size_t columns = n / 2 + n % 2;
        const auto half = code_size_ == 1 ? kernels_.half8 : kernels_.half16;
        half(colours(before_), columns, plan_.matrix, u, v);
        u += columns * code_size_;
        v += columns * code_size_;
      });
      from += 2 * plan_.row_stride;
      to += 2 * row;
    }
  }

  // Two rows' Y, and their sums for U and V: in `sums_`, with a column more on either side.
  void pair(const std::byte* from, bool has_lower, std::size_t x, std::size_t n,
            std::byte* to) noexcept {
    const YuvMatrix& matrix = plan_.matrix;
    // The column left of the piece: the last one of the piece before.
    for (std::size_t c = 0; c < plan_.channels; ++c) {
      before_[c][0] = before_[c][piece_width];
    }
    unpack(from, x, n, upper_);
    yuv()(colours(upper_), n, matrix.y, matrix.top, to);
    if (has_lower) {
      unpack(from + plan_.row_stride, x, n, lower_);
      yuv()(colours(lower_), n, matrix.y, matrix.top, to + plan_.width * code_size_);
    }
    for (std::size_t c = 0; c < plan_.channels; ++c) {
      kernels_.sum(upper_[c], has_lower ? lower_[c] : upper_[c], n);
      if (x == 0) before_[c][0] = upper_[c][0];
      upper_[c][n] = upper_[c][n - 1];
    }
  }

  const ConvertPlan& plan_;
  const RowKernels& kernels_;
  std::int64_t value_size_;
  std::size_t code_size_;
  const std::array<RowKernels::Unpack, 3>& unpack_;
  // Each plane has a column before its first one.
  alignas(64) float room_[8][plane_size]{};
  Planes before_{room_[0], room_[1], room_[2], room_[3]};
  Planes upper_{room_[0] + 1, room_[1] + 1, room_[2] + 1, room_[3] + 1};
  Planes lower_{room_[4], room_[5], room_[6], room_[7]};
};

}  // namespace

void convert_now(const ConvertPlan& plan) noexcept {
  RowsConverter rows(plan);
  for (std::uint64_t frame = 0; frame < plan.frames; ++frame) {
    rows.convert(plan.from + static_cast<std::int64_t>(frame) * plan.frame_stride,
                 plan.to + frame * plan.frame_size);
  }
}

}  // namespace offramp::frames
