// SPDX-License-Identifier: Apache-2.0
// Which sink a path and its options mean.
#include "transport/frame_sinks/array_sinks.hpp"
#include "transport/frame_sinks/png_sink.hpp"
#include "transport/frame_sinks/stream_sinks.hpp"
#include "transport/video/video_sink.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace offramp {
namespace {

using Sink = std::unique_ptr<FrameSink>;

struct FrameSinkRow {
  std::string_view name{};
  std::array<std::string_view, 3> extensions{};  // in lower case, with the dot
  bool to_standard_output{};
  Sink (*make)(FrameTarget target, const FrameSinkOptions& options){};
};

Sink make_video(FrameTarget target, const FrameSinkOptions& options) {
  return make_video_sink(std::move(target), options);
}

constexpr std::array<FrameSinkRow, 8> rows{{
    {.name = "mp4", .extensions = {".mp4", ".m4v", ".mov"}, .make = make_video},
    {.name = "mkv", .extensions = {".mkv"}, .make = make_video},
    {.name = "y4m",
     .extensions = {".y4m"},
     .to_standard_output = true,
     .make = [](FrameTarget target, const FrameSinkOptions&) -> Sink {
       return make_y4m_sink(std::move(target));
     }},
    {.name = "raw",
     .extensions = {".raw", ".rgb", ".yuv"},
     .to_standard_output = true,
     .make = [](FrameTarget target, const FrameSinkOptions&) -> Sink {
       return make_raw_frame_sink(std::move(target));
     }},
    {.name = "png",
     .extensions = {".png"},
     .make = [](FrameTarget target, const FrameSinkOptions& options) -> Sink {
       return make_png_sink(std::move(target), options.level);
     }},
    {.name = "npy",
     .extensions = {".npy"},
     .make = [](FrameTarget target, const FrameSinkOptions&) -> Sink {
       return make_npy_frame_sink(std::move(target));
     }},
    {.name = "safetensors",
     .extensions = {".safetensors"},
     .make = [](FrameTarget target, const FrameSinkOptions&) -> Sink {
       return make_safetensors_frame_sink(std::move(target));
     }},
    {.name = "null",
     .make = [](FrameTarget, const FrameSinkOptions&) -> Sink { return make_null_frame_sink(); }},
}};

std::string extension_of(std::string_view path) {
  const auto slash = path.rfind('/');
  const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::string extension(name.substr(dot));
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

[[noreturn]] void refuse(const std::string& path, std::string what, std::string remedy) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = std::move(what),
                   .path = path,
                   .remedy = std::move(remedy)});
}

const FrameSinkRow& row_for(const std::string& path, const std::string& format) {
  if (path.empty()) refuse(path, "no path to write frames to", "name a file, or - or null:");
  std::string_view name = format;
  if (name.empty() && path == "null:") name = "null";
  if (name.empty() && path == "-") {
    refuse("standard output", "the format is not stated", "choose y4m or raw by --format");
  }
  std::error_code none;  // of a path that is not there
  if (name.empty() && (path.ends_with('/') || std::filesystem::is_directory(path, none))) {
    name = "png";
  }
  const std::string extension = extension_of(path);
  for (const FrameSinkRow& row : rows) {
    if (!name.empty() ? row.name == name
                      : !extension.empty() && std::ranges::count(row.extensions, extension) > 0) {
      return row;
    }
  }
  std::vector<std::string_view> known;
  for (const FrameSinkRow& row : rows) known.push_back(row.name);
  if (!format.empty()) {
    refuse(path, fmt::format("there is no frame format '{}'", format),
           fmt::format("choose one of {}", fmt::join(known, ", ")));
  }
  refuse(
      path,
      extension.empty() ? "a path without an extension"
                        : fmt::format("the extension '{}' is unknown", extension),
      fmt::format("name a file by its format ({}), a folder with '/' at its end for png files, or "
                  "state --format",
                  fmt::join(known, ", ")));
}

void expect_options(const FrameSinkRow& row, const std::string& path,
                    const FrameSinkOptions& options) {
  const bool video = row.name == "mp4" || row.name == "mkv";
  const auto only = [&](bool set, std::string_view what, std::string_view kind) {
    if (set)
      refuse(path, fmt::format("{} has no {}", row.name, what), fmt::format("it is of {}", kind));
  };
  if (!video) {
    only(!options.encoder.empty(), "encoder", "mp4 and mkv");
    only(options.quality.has_value(), "crf", "mp4 and mkv");
    only(!options.preset.empty(), "preset", "mp4 and mkv");
  }
  if (row.name != "png") only(options.level.has_value(), "compression level", "png");
  if (path == "-" && !row.to_standard_output) {
    refuse("standard output", fmt::format("{} cannot be written to a pipe", row.name),
           "choose y4m or raw, or name a file");
  }
}

}  // namespace

std::unique_ptr<FrameSink> make_frame_sink(const std::string& path,
                                           const FrameSinkOptions& options) {
  const FrameSinkRow& row = row_for(path, options.format);
  expect_options(row, path, options);
  return row.make({.path = path,
                   .existing = options.overwrite ? OutputFile::Existing::overwrite
                                                 : OutputFile::Existing::refuse,
                   .cancel = options.cancel},
                  options);
}

}  // namespace offramp
