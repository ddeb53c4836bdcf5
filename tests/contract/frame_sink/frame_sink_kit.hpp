// SPDX-License-Identifier: Apache-2.0
// What the tests of frame sinks share: frames to write, files read back by somebody else's code.
#pragma once

#include <offramp/transport/frame_transport.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace offramp::testing {

using Bytes = std::vector<std::byte>;

struct SinkCase {
  std::string name{};
  std::string path{};  // in the test's folder
  FrameSinkOptions options{};
  PixelFormat pixels{};
  bool exact{true};       // what is read back are the same bytes
  bool holds_none{true};  // a file without a frame is a file
  bool coded{false};      // a video: the encoder holds frames
  std::uint32_t width{70};
  std::uint32_t height{66};

  [[nodiscard]] FrameFormat format() const {
    return {.pixels = pixels, .width = width, .height = height, .rate = {24, 1}};
  }
};

inline void PrintTo(const SinkCase& kind, std::ostream* out) { *out << kind.name; }

/// All sinks that this build has, in several formats.
[[nodiscard]] std::vector<SinkCase> sink_cases();

/// A moving picture with some detail; the same bytes for the same number.
[[nodiscard]] Bytes sample_frame(const FrameFormat& format, std::uint64_t number);

/// The frames of a finished file, by the reader of its kind: FFmpeg for videos and png.
[[nodiscard]] std::vector<Bytes> read_back(const SinkCase& kind, const std::string& path);

/// Decibels between two frames of one format.
[[nodiscard]] double psnr(const FrameFormat& format, const Bytes& a, const Bytes& b);

/// Begins `sink` and writes samples 0 to `frames`, through `encode` where it codes alone.
void write_samples(FrameSink& sink, const FrameFormat& format, std::uint64_t frames);
void write_sample(FrameSink& sink, const FrameFormat& format, std::uint64_t number);

#if OFFRAMP_HAS_FFMPEG
struct DecodedVideo {
  std::vector<Bytes> frames{};
  std::vector<double> times{};  // in seconds
  int primaries{};              // of the container
  int transfer{};
  int matrix{};
  int range{};
  int chroma{};
  int codec_matrix{};  // of the decoded picture
  int codec_range{};
  int rate_num{};
  int rate_den{};
};
[[nodiscard]] DecodedVideo decode(const std::string& path);
#endif

/// A folder of its own for each test.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::vector<std::string> entries() const;
  /// The one file beside the target that is being written.
  [[nodiscard]] std::string temporary() const;
  [[nodiscard]] std::unique_ptr<FrameSink> make(const SinkCase& kind, bool overwrite = false) const;

 private:
  std::filesystem::path folder_{};
};

}  // namespace offramp::testing
