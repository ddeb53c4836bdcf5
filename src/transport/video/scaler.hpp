// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/video/av_formats.hpp"
#include "transport/video/decode_handles.hpp"

#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <span>

namespace offramp::decoding {

/// Brings pictures to one format and size: by copying where they have it, else through swscale.
class Scaler {
 public:
  Scaler(const FrameFormat& to, std::size_t threads) noexcept : to_(to), threads_(threads) {}

  /// `tags` say what `from` is; Y'CbCr keeps its range and matrix where the target has the same.
  /// @throws OutOfMemory, DataError for a picture that cannot be converted.
  void put(const AVFrame& from, const ColorTags& tags, std::span<std::byte> out);

 private:
  void prepare(const AVFrame& from, const ColorTags& tags);
  void scale(const AVFrame& from, std::span<std::byte> out);

  FrameFormat to_;
  std::size_t threads_;
  Owned<SwsContext> context_{};
  // What the context was made for.
  int width_{};
  int height_{};
  int format_{-1};
  ColorTags tags_{};
  Owned<AVFrame> aligned_{};  // swscale writes whole vectors
};

}  // namespace offramp::decoding
