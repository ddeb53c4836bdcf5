// SPDX-License-Identifier: Apache-2.0
#include "frame_feed.hpp"

#include "command.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace offramp::cli {
namespace {

std::uint32_t even(std::uint32_t side, Odd odd) {
  if (side % 2 == 0) return side;
  return odd == Odd::pad || side == 1 ? side + 1 : side - 1;
}

FrameFormat fitted(FrameFormat format, Odd odd) {
  if (odd == Odd::refuse || !is_subsampled(format.pixels)) return format;
  format.width = even(format.width, odd);
  format.height = even(format.height, odd);
  return format;
}

// One more line or column, a copy of the last, or one fewer. Of subsampled formats alone, whose
// planes lie one after the other.
class FittedSource final : public FrameSource {
 public:
  FittedSource(std::unique_ptr<FrameSource> from, const FrameFormat& to)
      : from_(std::move(from)), format_(to), bytes_(from_->format().size()) {}

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override {
    return from_->count();
  }

  [[nodiscard]] bool read(std::span<std::byte> frame) override {
    if (!from_->read(bytes_)) return false;
    const FrameFormat& own = from_->format();
    const std::size_t sample = bits_of(own.pixels) > 8 ? 2 : 1;
    const std::byte* in = bytes_.data();
    std::byte* out = frame.data();
    for (std::uint32_t plane = 0; plane < 3; ++plane) {
      const auto side = [&](std::uint32_t length) {
        return plane == 0 ? length : (length + 1) / 2;
      };
      const std::size_t in_row = side(own.width) * sample;
      const std::size_t out_row = side(format_.width) * sample;
      const std::uint32_t in_rows = side(own.height);
      const std::uint32_t out_rows = side(format_.height);
      for (std::uint32_t y = 0; y < out_rows; ++y) {
        const std::byte* const row = in + std::size_t{std::min(y, in_rows - 1)} * in_row;
        const std::size_t kept = std::min(in_row, out_row);
        std::memcpy(out, row, kept);
        if (kept < out_row) std::memcpy(out + kept, row + in_row - sample, sample);
        out += out_row;
      }
      in += in_row * in_rows;
    }
    return true;
  }

 private:
  std::unique_ptr<FrameSource> from_;
  FrameFormat format_;
  std::vector<std::byte> bytes_;
};

}  // namespace

FrameFormat generated_format(const FrameOptions& options, std::span<const PixelFormat> accepted) {
  FrameFormat format;
  const auto from_rgb = [](PixelFormat one) { return channels_of(one) == 3; };
  const auto first = std::ranges::find_if(accepted, from_rgb);
  format.pixels = options.pixels().value_or(first != accepted.end() ? *first : PixelFormat::rgb24);
  const auto size = options.frame_size().value_or(FrameOptions::Size{832, 480});
  format.width = size.width;
  format.height = size.height;
  format.matrix = options.color_matrix().value_or(ColorMatrix::bt709);
  format.range = options.color_range().value_or(ColorRange::limited);
  format.rate = options.rate().value_or(FrameRate{});
  return fitted(format, options.on_odd());
}

std::unique_ptr<FrameSource> open_feed(const FrameOptions& options,
                                       std::span<const PixelFormat> accepted,
                                       std::stop_token cancel) {
  FrameSourceOptions how = options.source_options(std::move(cancel));
  how.accepts.assign(accepted.begin(), accepted.end());
  const std::string_view format =
      as_asked([&] { return frame_source_format(options.source, how); });
  if (format == "raw" && (!how.pixels || !how.width)) {
    throw UsageError({.code = ErrorCode::unknown_dtype,
                      .what = "raw frames do not say what they are",
                      .path = options.source,
                      .remedy = "state them with --pixel-format and --size, such as "
                                "--pixel-format rgb24 --size 640x480"});
  }
  auto source = open_frame_source(options.source, how);
  const FrameFormat to = fitted(source->format(), options.on_odd());
  if (to == source->format()) return source;
  return std::make_unique<FittedSource>(std::move(source), to);
}

}  // namespace offramp::cli
