// SPDX-License-Identifier: Apache-2.0
#include "transport/video/video_sink.hpp"

#ifndef OFFRAMP_HAS_FFMPEG
namespace offramp {

std::unique_ptr<FrameSink> make_video_sink(FrameTarget target, const FrameSinkOptions&) {
  throw DataError(
      {.code = ErrorCode::unsupported,
       .what = "this build has no video encoders",
       .path = std::move(target.path),
       .remedy = "install libavcodec-dev, libavformat-dev, libavutil-dev and libswscale-dev and "
                 "build again, or choose y4m, png, npy or raw"});
}

}  // namespace offramp
#endif
