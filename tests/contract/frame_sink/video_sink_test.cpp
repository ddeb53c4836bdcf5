// SPDX-License-Identifier: Apache-2.0
// What is special about videos: colours, times, sizes, encoders.
#include "contract/frame_sink/frame_sink_kit.hpp"

#include <offramp/core/error.hpp>

#include <gmock/gmock.h>

#include <fstream>

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace offramp::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VideoSinkTest : public FolderTest {
 protected:
  DecodedVideo video(const std::string& path, const FrameFormat& format, std::uint64_t frames,
                     FrameSinkOptions options = {}) {
    options.overwrite = true;
    if (options.preset.empty() && options.encoder.empty()) options.preset = "ultrafast";
    const auto sink = make_frame_sink(at(path), options);
    EXPECT_NO_THROW({
      write_samples(*sink, format, frames);
      sink->finish();
    });
    return decode(at(path));
  }
  template <class Error = DataError>
  std::string refused(const std::string& path, const FrameSinkOptions& options,
                      const FrameFormat& format = {PixelFormat::yuv420p, 64, 64}) {
    try {
      make_frame_sink(at(path), options)->begin(format);
      return "nothing was refused";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(VideoSinkTest, SaysItsColoursInCodecAndContainer) {
  for (const std::string path : {"clip.mp4", "clip.mkv"}) {
    for (const char* const encoder : {"libx264", "libx265", "libsvtav1"}) {
      for (const auto matrix : {ColorMatrix::bt709, ColorMatrix::bt601}) {
        const bool bt709 = matrix == ColorMatrix::bt709;
        const auto range = bt709 ? ColorRange::limited : ColorRange::full;
        const FrameFormat format{PixelFormat::yuv420p, 64, 64, matrix, range, {24, 1}};
        SCOPED_TRACE(path + " " + encoder);
        const DecodedVideo read = video(path, format, 2, {.encoder = encoder});
        EXPECT_EQ(read.matrix, bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M);
        EXPECT_EQ(read.primaries, bt709 ? AVCOL_PRI_BT709 : AVCOL_PRI_SMPTE170M);
        EXPECT_EQ(read.transfer, bt709 ? AVCOL_TRC_BT709 : AVCOL_TRC_SMPTE170M);
        EXPECT_EQ(read.range, bt709 ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG);
        EXPECT_EQ(read.codec_matrix, read.matrix);
        EXPECT_EQ(read.codec_range, read.range);
        if (std::string(encoder) == "libsvtav1") continue;
        EXPECT_EQ(read.chroma, AVCHROMA_LOC_LEFT);
      }
    }
  }
}

TEST_F(VideoSinkTest, KeepsTheTimesOfItsFrames) {
  const FrameFormat format{PixelFormat::yuv420p, 64, 64, {}, {}, {30000, 1001}};
  for (const std::string path : {"clip.mp4", "clip.mkv"}) {
    // With pictures out of order, which "ultrafast" has not.
    const DecodedVideo read = video(path, format, 41, {.preset = "medium"});
    ASSERT_EQ(read.times.size(), 41u);
    const double unit = path == "clip.mp4" ? 1e-5 : 1e-3;  // mkv counts milliseconds
    for (std::size_t i = 0; i < 41; ++i) {
      EXPECT_NEAR(read.times[i], static_cast<double>(i) * 1001 / 30000, unit) << path << i;
    }
    EXPECT_NEAR(double(read.rate_num) / read.rate_den, 30000.0 / 1001, 1e-4) << path;
  }
}

TEST_F(VideoSinkTest, IsCloseToWhatItWasGiven) {
  const FrameFormat format{PixelFormat::yuv420p, 128, 96, {}, {}, {24, 1}};
  const DecodedVideo read =
      video("clip.mp4", format, 24, {.encoder = "libx264", .quality = 18, .preset = "medium"});
  ASSERT_EQ(read.frames.size(), 24u);
  double worst = 100;
  for (std::size_t i = 0; i < 24; ++i) {
    worst = std::min(worst, psnr(format, read.frames[i], sample_frame(format, i)));
  }
  EXPECT_GT(worst, 40);
  RecordProperty("worst_psnr", std::to_string(worst));
}

TEST_F(VideoSinkTest, TheSameFramesMakeTheSameBytes) {
  const FrameFormat format{PixelFormat::yuv420p, 64, 64, {}, {}, {24, 1}};
  const auto bytes_of = [&](const std::string& path) {
    std::ifstream file(at(path), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  for (const std::string extension : {".mp4", ".mkv"}) {
    static_cast<void>(video("a" + extension, format, 15));
    static_cast<void>(video("b" + extension, format, 15));
    EXPECT_TRUE(bytes_of("a" + extension) == bytes_of("b" + extension)) << extension;
  }
}

TEST_F(VideoSinkTest, OddSizes) {
  for (const auto pixels : {PixelFormat::yuv420p, PixelFormat::yuv420p10}) {
    EXPECT_THAT(refused("clip.mp4", {}, {pixels, 853, 481}),
                AllOf(HasSubstr("853 x 481"), HasSubstr("--odd pad"), HasSubstr("yuv444p"),
                      HasSubstr("y4m")));
  }
  EXPECT_THAT(refused("clip.mp4", {.encoder = "libsvtav1"}, {PixelFormat::yuv420p, 2, 2}),
              HasSubstr("libsvtav1 does not take yuv420p frames of 2 x 2"));
  EXPECT_THAT(entries(), IsEmpty());
  for (const auto& [width, height] : {std::pair{853u, 481u}, {1u, 1u}, {2u, 3u}}) {
    const FrameFormat format{PixelFormat::yuv444p, width, height, {}, {}, {24, 1}};
    const DecodedVideo read = video("clip.mp4", format, 3, {.quality = 0, .preset = "ultrafast"});
    ASSERT_EQ(read.frames.size(), 3u) << width;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(read.frames[i] == sample_frame(format, i));
  }
}

TEST_F(VideoSinkTest, BitsThatAnEncoderDoesNotTakeAreRefusedEarly) {
  EXPECT_THAT(refused("clip.mp4", {.encoder = "libsvtav1"}, {PixelFormat::yuv444p10, 64, 64}),
              AllOf(HasSubstr("yuv444p10"), HasSubstr("yuv420p, yuv420p10")));
  EXPECT_THAT(refused("clip.mkv", {}, {PixelFormat::rgb24, 64, 64}), HasSubstr("rgb24"));
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(VideoSinkTest, SettingsThatAreNotThereAreRefusedBeforeAnything) {
  EXPECT_THAT(refused("clip.mp4", {.encoder = "libx266"}),
              AllOf(HasSubstr("'libx266'"), HasSubstr("libx264, libx265, libsvtav1")));
  EXPECT_THAT(refused("clip.mp4", {.quality = 52}), HasSubstr("0 (best) to 51"));
  EXPECT_THAT(refused("clip.mp4", {.quality = -1}), HasSubstr("no quality -1"));
  EXPECT_THAT(refused("clip.mp4", {.encoder = "libsvtav1", .quality = 0}), HasSubstr("1 (best)"));
  EXPECT_THAT(refused("clip.mp4", {.preset = "quick"}), HasSubstr("veryfast"));
  EXPECT_THAT(refused("clip.mp4", {.encoder = "libsvtav1", .preset = "fast"}), HasSubstr("13"));
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(VideoSinkTest, HardwareIsTakenOnlyWhereASessionOpens) {
  try {
    const auto sink = make_frame_sink(at("clip.mp4"), {.encoder = "h264_nvenc"});
    write_samples(*sink, {PixelFormat::yuv420p, 256, 144, {}, {}, {24, 1}}, 5);
    sink->finish();
    EXPECT_EQ(decode(at("clip.mp4")).frames.size(), 5u);
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("h264_nvenc does not work here: "),
                                    HasSubstr("those that work here: libx264")));
    EXPECT_THAT(error.what(), Not(HasSubstr("here: libx264, libx265, libsvtav1, h264_nvenc")));
  }
}

TEST_F(VideoSinkTest, PrintsNothing) {
  ::testing::internal::CaptureStderr();
  const FrameFormat format{PixelFormat::yuv420p, 64, 64, {}, {}, {24, 1}};
  for (const char* const encoder : {"libx264", "libx265", "libsvtav1"}) {
    const auto sink = make_frame_sink(at("clip.mp4"), {.encoder = encoder, .overwrite = true});
    write_samples(*sink, format, 3);
    sink->finish();
    static_cast<void>(refused("other.mp4", {.encoder = encoder}, {PixelFormat::yuv420p, 2, 2}));
    static_cast<void>(
        refused("other.mp4", {.encoder = encoder}, {PixelFormat::yuv420p, 1 << 20, 2}));
  }
  static_cast<void>(refused("clip.mp4", {.encoder = "h264_nvenc"}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Cut anywhere, as a full disk or a lost network drive leaves it.
TEST_F(VideoSinkTest, ACutFilePlaysUpToItsLastWholePiece) {
  const FrameFormat format{PixelFormat::yuv420p, 64, 64, {}, {}, {24, 1}};
  for (const std::string extension : {".mp4", ".mkv"}) {
    ASSERT_EQ(video("clip" + extension, format, 72).frames.size(), 72u);
    const auto size = fs::file_size(at("clip" + extension));
    std::size_t before = 0;
    for (const int tenths : {4, 6, 8, 9}) {
      fs::copy_file(at("clip" + extension), at("cut" + extension),
                    fs::copy_options::overwrite_existing);
      fs::resize_file(at("cut" + extension), size * static_cast<unsigned>(tenths) / 10);
      const std::size_t frames = decode(at("cut" + extension)).frames.size();
      EXPECT_GE(frames, before) << extension << tenths;
      EXPECT_GE(frames + 24, 72u * static_cast<unsigned>(tenths) / 10) << extension << tenths;
      EXPECT_LT(frames, 72u);
      before = frames;
    }
  }
}

}  // namespace
}  // namespace offramp::testing
