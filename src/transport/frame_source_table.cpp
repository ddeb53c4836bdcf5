// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_input.hpp"
#include "transport/frame_raw/frame_raw_source.hpp"
#include "transport/video/video_source.hpp"
#include "transport/y4m/y4m_source.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

namespace offramp {
namespace {

using Source = std::unique_ptr<FrameSource>;

Source open_y4m(FrameInput input, const FrameSourceOptions& options) {
  return make_scaled_source(std::make_unique<Y4mSource>(std::move(input), options), options);
}

Source open_raw(FrameInput input, const FrameSourceOptions& options) {
  auto source = std::make_unique<FrameRawSource>(std::move(input), options);
  // Size and format say what it is, not what it is to become.
  FrameSourceOptions then = options;
  then.width.reset();
  then.height.reset();
  if (!then.accepts.empty()) then.pixels.reset();
  return make_scaled_source(std::move(source), then);
}

constexpr std::array<std::string_view, 5> raw_extensions{".raw", ".yuv", ".rgb", ".gray", ".rgba"};
constexpr std::array<std::string_view, 7> image_extensions{".png", ".jpg",  ".jpeg", ".bmp",
                                                           ".tif", ".tiff", ".webp"};

template <std::size_t count>
bool ends_like(const std::string& path, const std::array<std::string_view, count>& extensions) {
  return std::ranges::any_of(extensions, [&](std::string_view end) { return path.ends_with(end); });
}

constexpr std::array<std::string_view, 4> formats{"video", "images", "y4m", "raw"};
// Arrays are written only: their axes do not say which of them are frames.
constexpr std::array<std::string_view, 2> array_extensions{".npy", ".safetensors"};

std::string_view format_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return "images";
  if (path.ends_with(".y4m")) return "y4m";
  if (ends_like(path, raw_extensions)) return "raw";
  if (ends_like(path, image_extensions)) return "images";
  if (ends_like(path, array_extensions)) {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = "frames are written as .npy and .safetensors, and not read from them",
                     .path = path,
                     .remedy = "give what they were made from, or their bytes alone as .raw, with "
                               "--pixel-format and --size"});
  }
  return "video";
}

}  // namespace

std::string_view frame_source_format(const std::string& path, const FrameSourceOptions& options) {
  if (options.format.empty()) return path == "-" ? "stream" : format_of(path);
  const auto found = std::ranges::find(formats, options.format);
  if (found != formats.end()) return *found;
  throw DataError({.code = ErrorCode::unsupported,
                   .what = fmt::format("no source of frames is called '{}'", options.format),
                   .path = path,
                   .remedy = "use video, images, y4m or raw"});
}

Source open_frame_source(const std::string& path, const FrameSourceOptions& options) {
  const auto input = [&] { return FrameInput(path, options.cancel); };
  const auto open_stream = [&]() -> Source {
    FrameInput stream = input();
    const bool y4m = stream.peek(9) == "YUV4MPEG2";
    if (y4m) return open_y4m(std::move(stream), options);
    if (stream.peek(1).empty()) {
      throw DataError({.code = ErrorCode::truncated,
                       .what = "no byte came",
                       .path = stream.name(),
                       .remedy = "check the program that writes into the pipe"});
    }
    return open_raw(std::move(stream), options);
  };
  const std::string_view format = frame_source_format(path, options);
  if (format == "stream") return open_stream();
  if (format == "y4m") return open_y4m(input(), options);
  if (format == "raw") return open_raw(input(), options);
  if (format == "images") return open_image_source(path, options);
  return open_video_source(path, options);
}

}  // namespace offramp
