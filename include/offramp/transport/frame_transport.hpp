// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/frame_sink.hpp>
#include <offramp/transport/frame_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// How to make a sink. What is empty or 0 follows from the path or is the encoder's default.
struct FrameSinkOptions {
  std::string format{};   ///< "mp4", "mkv", "y4m", "raw", "png", "npy", "safetensors", "null"
  std::string encoder{};  ///< "libx264", "libx265", "libsvtav1" or a hardware encoder's name
  std::optional<int> quality{};           ///< constant rate factor; the encoder's range
  std::string preset{};                   ///< the encoder's, such as "veryfast"
  std::optional<int> level{};             ///< of png's compression, 0 to 9
  std::size_t threads{0};                 ///< of the video encoder; 0: it chooses
  std::optional<std::uint64_t> frames{};  ///< how many will come, where known (npy and safetensors
                                          ///< then need not mend their header)
  bool overwrite{false};                  ///< replace what stands under the path
  std::stop_token cancel{};               ///< ends a wait in `begin` for somebody who reads a pipe
};

/// Makes the sink for `path`; nothing is created before its `begin`. `-` is standard output (raw or
/// y4m). `.mp4 .mkv .y4m .png .npy .safetensors .rgb .yuv .raw` choose the format; a path of a png
/// sequence is a folder or holds one number field such as `frame_%05d.png`; `null:` takes
/// everything and keeps nothing.
/// @throws DataError (usage) for a path, encoder or option that nothing here can serve, with those
///         that can.
[[nodiscard]] std::unique_ptr<FrameSink> make_frame_sink(const std::string& path,
                                                         const FrameSinkOptions& options = {});

/// How to open a source. What is empty follows from the file.
struct FrameSourceOptions {
  std::string format{};  ///< "video", "images", "y4m", "raw"
  std::optional<PixelFormat>
      pixels{};  ///< of a raw stream, which must state it; of others: convert to it
  std::optional<std::uint32_t> width{};   ///< of a raw stream; of a video or images: scale to it
  std::optional<std::uint32_t> height{};  ///< likewise
  std::optional<FrameRate> rate{};        ///< of a raw stream or images; of the others: overrides

  /// Where not empty: what the reader takes, the preferred one first. A source of another format is
  /// converted to the one of these that keeps most.
  std::vector<PixelFormat> accepts{};

  /// Of Y'CbCr, where the source does not say; and of what RGB is converted to.
  std::optional<ColorMatrix> matrix{};
  std::optional<ColorRange> range{};

  std::size_t threads{0};    ///< that decode and scale; 0: the library chooses
  std::stop_token cancel{};  ///< ends a wait for standard input or a pipe: DataError (cancelled)
};

/// What `open_frame_source` takes a path for: "video", "images", "y4m" or "raw"; "stream" for
/// standard input, whose first bytes tell.
/// @throws DataError (unsupported) for what is no source by its name, whatever is there.
[[nodiscard]] std::string_view frame_source_format(const std::string& path,
                                                   const FrameSourceOptions& options = {});

/// Opens a video file, a folder of images or a pattern such as `in_%04d.png`, a y4m or raw file, or
/// standard input (`-`: y4m by its first bytes, else raw as described).
/// @throws DataError, IoError.
[[nodiscard]] std::unique_ptr<FrameSource> open_frame_source(
    const std::string& path, const FrameSourceOptions& options = {});

}  // namespace offramp
