// SPDX-License-Identifier: Apache-2.0
// Videos and pictures, made by the library's own sinks. Skipped in a build without FFmpeg.
#include "source_files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace offramp {
namespace {

using namespace testing_sources;
using ::testing::HasSubstr;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Media : public SourceTest {
 protected:
  void SetUp() override {
    try {
      static_cast<void>(open_frame_source(write("no.mp4", "x")));
    } catch (const DataError& error) {
      if (error.error().code == ErrorCode::unsupported) GTEST_SKIP() << "this build has no FFmpeg";
    } catch (const MachineError&) {
    }
  }

  // Frame k of a video is gray, brighter by k.
  static Bytes gray_frame(const FrameFormat& format, int k) {
    Bytes frame(format.size(), std::byte{128});
    const std::size_t luma = std::size_t{format.width} * format.height;
    std::fill_n(frame.begin(), is_yuv(format.pixels) ? luma : frame.size(),
                static_cast<std::byte>(40 + 4 * k));
    return frame;
  }

  std::string make(const std::string& name, const FrameFormat& format, int frames,
                   const std::string& encoder = {}) const {
    const std::string path = folder + "/" + name;
    const auto sink = make_frame_sink(path, {.encoder = encoder, .overwrite = true});
    sink->begin(format);
    std::vector<std::byte> coded;
    for (int k = 0; k < frames; ++k) {
      const Bytes frame = gray_frame(format, k);
      if (sink->codes_alone()) sink->encode(frame, coded);
      sink->write(static_cast<std::uint64_t>(k),
                  sink->codes_alone() ? std::span<const std::byte>(coded) : frame);
    }
    sink->finish();
    return path;
  }

  std::string clip(int frames = 41, FrameRate rate = {30000, 1001}) const {
    return make("clip.mp4",
                {.pixels = PixelFormat::yuv420p, .width = 96, .height = 64, .rate = rate}, frames);
  }

  static void expect_gray(const std::vector<std::string>& frames) {
    for (std::size_t k = 0; k < frames.size(); ++k) {
      const auto middle = static_cast<unsigned char>(frames[k][48 + 96 * 32]);
      EXPECT_NEAR(middle, 40 + 4 * static_cast<int>(k), 2) << "frame " << k;
    }
  }
};

TEST_F(Media, AVideoGivesAllItsFramesInOrder) {
  for (const int frames : {1, 2, 3, 41}) {
    const auto source = open_frame_source(clip(frames));
    const FrameFormat format = source->format();
    EXPECT_EQ(format.pixels, PixelFormat::yuv420p);
    EXPECT_EQ(format.width, 96u);
    EXPECT_EQ(format.height, 64u);
    EXPECT_EQ(format.matrix, ColorMatrix::bt709);
    EXPECT_EQ(format.range, ColorRange::limited);
    const auto got = read_all(*source);
    EXPECT_EQ(got.size(), static_cast<std::size_t>(frames));
    expect_gray(got);
  }
  EXPECT_EQ(open_frame_source(clip(41))->format().rate, (FrameRate{30000, 1001}));
}

TEST_F(Media, ARateThatIsStatedOverrulesTheTimes) {
  const auto source = open_frame_source(clip(10), {.rate = FrameRate{5, 1}});
  EXPECT_EQ(source->format().rate, (FrameRate{5, 1}));
  EXPECT_EQ(read_all(*source).size(), 10u);
}

TEST_F(Media, VideosAreScaledAndConverted) {
  const auto source =
      open_frame_source(clip(3), {.pixels = PixelFormat::rgb24, .width = 50, .height = 31});
  ASSERT_EQ(source->format().size(), 50u * 31 * 3);
  const auto frames = read_all(*source);
  ASSERT_EQ(frames.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    // Limited range: code 16 is black, 235 white.
    const double expected = (40 + 4 * static_cast<double>(k) - 16) * 255 / 219;
    for (const char c : frames[k]) ASSERT_NEAR(static_cast<unsigned char>(c), expected, 4) << k;
  }
}

TEST_F(Media, WhatTheReaderTakesIsMetByTheNearest) {
  const std::vector<PixelFormat> rgb{PixelFormat::gray8, PixelFormat::rgb24};
  EXPECT_EQ(open_frame_source(clip(1), {.accepts = rgb})->format().pixels, PixelFormat::rgb24);
  const std::vector<PixelFormat> deep{PixelFormat::rgb24, PixelFormat::yuv420p10};
  EXPECT_EQ(open_frame_source(clip(1), {.accepts = deep})->format().pixels, PixelFormat::yuv420p10);
  const std::vector<PixelFormat> own{PixelFormat::rgb24, PixelFormat::yuv420p};
  EXPECT_EQ(open_frame_source(clip(1), {.accepts = own})->format().pixels, PixelFormat::yuv420p);
}

TEST_F(Media, DamagedVideosEndInAnErrorOrEarlyAndNeverBadly) {
  const std::string whole = bytes_of(clip(41));
  std::size_t refused = 0;
  std::uint32_t drawn = 1;
  const auto random = [&] { return drawn = drawn * 1664525u + 1013904223u; };
  for (int round = 0; round < 40; ++round) {
    std::string damaged = whole;
    if (round % 2 == 0) {
      damaged.resize(random() % whole.size());
    } else {
      for (int hit = 0; hit < 8; ++hit)
        damaged[(random() >> 8) % damaged.size()] = static_cast<char>(random() >> 16);
    }
    try {
      const auto source = open_frame_source(write("damaged.mp4", damaged));
      if (source->format().size() > 1u << 20) continue;
      Bytes frame(source->format().size());
      for (int k = 0; k < 2000 && source->read(frame); ++k) {
      }
    } catch (const DataError&) {
      ++refused;
    } catch (const IoError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5u);
}

// FFmpeg's own reader ends there as if the file were whole.
TEST_F(Media, ACutFileIsNoShorterOne) {
  const FrameFormat format{.pixels = PixelFormat::yuv420p, .width = 96, .height = 64};
  const std::string whole = bytes_of(make("a.mkv", format, 300));
  for (const std::size_t percent : {60u, 80u, 95u}) {
    const auto source =
        open_frame_source(write("cut.mkv", whole.substr(0, whole.size() * percent / 100)));
    Bytes frame(source->format().size());
    std::uint64_t frames = 0;
    const std::string said = complaint([&] {
      while (source->read(frame)) ++frames;
    });
    EXPECT_THAT(said, HasSubstr("cut.mkv: is not whole, and ends behind frame " +
                                std::to_string(frames - 1)));
    EXPECT_GT(frames, 300 * percent / 100 - 60) << "what the decoder held was lost";
  }
}

TEST_F(Media, FilesThatAreNoVideo) {
  for (const char* const bytes :
       {"", "x", "hello, this is no video at all",
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:1,\nhttp://localhost/a.ts\n"}) {
    EXPECT_ANY_THROW(static_cast<void>(open_frame_source(write("a.mkv", bytes)))) << bytes;
  }
  EXPECT_THROW(static_cast<void>(open_frame_source(folder + "/none.mp4")), IoError);
}

// A video that comes through a pipe, which never says more than `bytes` and stays open.
class StalledPipe {
 public:
  StalledPipe(const std::string& path, const std::string& bytes) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    writer_ = std::thread([this, path, bytes] {
      std::ofstream pipe(path, std::ios::binary);
      pipe.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
      while (!over_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
  ~StalledPipe() {
    over_ = true;
    writer_.join();
  }

 private:
  std::atomic<bool> over_{};
  std::thread writer_{};
};

TEST_F(Media, AVideoComesThroughAPipe) {
  const std::string video =
      bytes_of(make("a.mkv", {.pixels = PixelFormat::yuv420p, .width = 96, .height = 64}, 30));
  const std::string path = folder + "/pipe.mkv";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << video; });
  const auto frames = read_all(*open_frame_source(path));
  writer.join();
  ASSERT_EQ(frames.size(), 30u);
  expect_gray(frames);
}

TEST_F(Media, AWaitForAPipeCanBeCancelled) {
  const std::string video =
      bytes_of(make("a.mkv", {.pixels = PixelFormat::yuv420p, .width = 96, .height = 64}, 30));
  // Before the first byte, within the header, within the frames.
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, video.size() - 200}) {
    const std::string path = folder + "/" + std::to_string(size) + ".mkv";
    const StalledPipe pipe(path, video.substr(0, size));
    std::stop_source stop;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      stop.request_stop();
    });
    try {
      static_cast<void>(read_all(*open_frame_source(path, {.cancel = stop.get_token()})));
      ADD_FAILURE() << "the rest never came";
    } catch (const DataError& error) {
      EXPECT_EQ(error.error().code, ErrorCode::cancelled) << error.what();
    }
    later.join();
  }
}

TEST_F(Media, PicturesComeAsTheyAreAndInOrder) {
  const FrameFormat format{.pixels = PixelFormat::rgb24, .width = 7, .height = 5};
  try {
    make("p_%d.png", format, 12);
  } catch (const DataError&) {
    GTEST_SKIP() << "this build writes no png";
  }
  for (const std::string& path : {folder + "/p_%d.png", folder}) {
    std::filesystem::remove(folder + "/no.mp4");
    const auto source = open_frame_source(path, {.rate = FrameRate{12, 1}});
    EXPECT_EQ(source->count(), 12u);
    EXPECT_EQ(source->format().pixels, PixelFormat::rgb24);
    EXPECT_EQ(source->format().rate, (FrameRate{12, 1}));
    const auto frames = read_all(*source);
    ASSERT_EQ(frames.size(), 12u);
    for (int k = 0; k < 12; ++k) {
      const Bytes expected = gray_frame(format, k);
      EXPECT_EQ(
          std::memcmp(frames[static_cast<std::size_t>(k)].data(), expected.data(), expected.size()),
          0)
          << k;
    }
  }
}

TEST_F(Media, PicturesThatDoNotFit) {
  const FrameFormat format{.pixels = PixelFormat::rgb24, .width = 7, .height = 5};
  std::string first;
  try {
    first = bytes_of(make("a_%d.png", format, 1).replace(folder.size() + 3, 2, "0"));
  } catch (const DataError&) {
    GTEST_SKIP() << "this build writes no png";
  }
  FrameFormat wider = format;
  wider.width = 8;
  const std::string other = bytes_of(make("b_%d.png", wider, 1).replace(folder.size() + 3, 2, "0"));
  const std::string pictures = folder + "/s_%02d.png";
  write("s_00.png", first);
  write("s_01.png", other);
  auto source = open_frame_source(pictures);
  EXPECT_THAT(complaint([&] { read_all(*source); }),
              HasSubstr("frame 1 is 8x5, the first one 7x5"));
  write("s_01.png", first.substr(0, first.size() / 2));
  source = open_frame_source(pictures);
  EXPECT_THAT(complaint([&] { read_all(*source); }), HasSubstr("frame 1 does not decode"));
  write("s_01.png", "");
  source = open_frame_source(pictures);
  EXPECT_THAT(complaint([&] { read_all(*source); }), HasSubstr("s_01.png"));
  EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(folder + "/none_%d.png")); }),
              HasSubstr("no picture is there"));
}

TEST_F(Media, AStreamIsConvertedToo) {
  const auto path = write("a.y4m", "YUV4MPEG2 W2 H2 F25:1 C444\nFRAME\n" + std::string(4, '\x51') +
                                       std::string(4, '\x5a') + std::string(4, '\xf0'));
  // Red of BT.601, limited: Y 81, U 90, V 240.
  const auto source = open_frame_source(path, {.accepts = {PixelFormat::rgb24}});
  EXPECT_EQ(source->format().pixels, PixelFormat::rgb24);
  const auto frames = read_all(*source);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_NEAR(static_cast<unsigned char>(frames[0][0]), 255, 3);
  EXPECT_NEAR(static_cast<unsigned char>(frames[0][1]), 0, 3);
  EXPECT_NEAR(static_cast<unsigned char>(frames[0][2]), 0, 3);
}

}  // namespace
}  // namespace offramp
