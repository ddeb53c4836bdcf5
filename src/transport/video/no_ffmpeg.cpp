// SPDX-License-Identifier: Apache-2.0
#if !OFFRAMP_HAS_FFMPEG
#include "transport/video/video_source.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace offramp {
namespace {

using Source = std::unique_ptr<FrameSource>;

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = fmt::format("{} needs FFmpeg, which this build is without", what),
                   .path = path,
                   .remedy = "build with FFmpeg's libraries, or pipe the frames in: ffmpeg -i FILE "
                             "-f yuv4mpegpipe - | offramp frames - OUT"});
}

bool takes(const FrameSourceOptions& options, PixelFormat format) {
  return options.accepts.empty() ||
         std::ranges::find(options.accepts, format) != options.accepts.end();
}

}  // namespace

Source open_video_source(const std::string& path, const FrameSourceOptions&) {
  refuse(path, "reading a video");
}
Source open_image_source(const std::string& path, const FrameSourceOptions&) {
  refuse(path, "reading pictures");
}

Source make_scaled_source(Source from, const FrameSourceOptions& options) {
  const FrameFormat& format = from->format();
  if (options.pixels.value_or(format.pixels) != format.pixels ||
      options.width.value_or(format.width) != format.width ||
      options.height.value_or(format.height) != format.height ||
      (!options.pixels && !takes(options, format.pixels))) {
    refuse({}, "scaling, and converting between pixel formats,");
  }
  return from;
}

}  // namespace offramp
#endif
