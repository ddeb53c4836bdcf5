// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_raw/frame_raw_source.hpp"

#include "core/checks.hpp"
#include "transport/y4m/y4m_source.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace offramp {

FrameRawSource::FrameRawSource(FrameInput input, const FrameSourceOptions& options)
    : input_(std::move(input)) {
  if (!options.pixels || !options.width || !options.height) {
    throw DataError({.code = ErrorCode::bad_header,
                     .what = "raw frames do not say what they are",
                     .path = input_.name(),
                     .remedy = "state them with --pixel-format and --size, such as "
                               "--pixel-format rgb24 --size 640x480"});
  }
  format_.pixels = *options.pixels;
  format_.width = *options.width;
  format_.height = *options.height;
  if (format_.width == 0 || format_.height == 0 || format_.width > longest_frame_side ||
      format_.height > longest_frame_side || format_.size() > largest_frame_size) {
    throw DataError(
        {.code = ErrorCode::limit_exceeded,
         .what = fmt::format("frames of {}x{} cannot be read", format_.width, format_.height),
         .path = input_.name(),
         .remedy = fmt::format("sides are 1 to {}", longest_frame_side)});
  }
  if (options.rate) format_.rate = *options.rate;
  format_.matrix = options.matrix.value_or(usual_matrix(format_.width, format_.height));
  if (options.range) format_.range = *options.range;
}

std::optional<std::uint64_t> FrameRawSource::count() const noexcept {
  if (!input_.size()) return std::nullopt;
  const std::uint64_t frame = format_.size();
  return *input_.size() / frame + (*input_.size() % frame != 0 ? 1 : 0);
}

bool FrameRawSource::read(std::span<std::byte> frame) {
  OFFRAMP_EXPECTS(frame.size() == format_.size(), "a frame is read into room for one");
  const std::size_t got = input_.read(frame);
  if (got == 0) return false;
  if (got != frame.size()) {
    throw DataError({.code = ErrorCode::truncated,
                     .what = fmt::format("ends within frame {}, after {} of {} bytes", number_, got,
                                         frame.size()),
                     .path = input_.name(),
                     .remedy = "check --size and --pixel-format; the frames before it are whole"});
  }
  ++number_;
  return true;
}

}  // namespace offramp
