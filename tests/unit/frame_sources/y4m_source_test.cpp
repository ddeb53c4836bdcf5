// SPDX-License-Identifier: Apache-2.0
#include "transport/y4m/y4m_source.hpp"

#include "source_files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace offramp {
namespace {

using namespace testing_sources;
using ::testing::HasSubstr;

FrameFormat format_of(const std::string& line) { return parse_y4m_header(line).value().format; }

TEST(Y4mHeader, SaysEveryFormatThatFramesCanHave) {
  for (const auto& [name, pixels] : {std::pair{"420jpeg", PixelFormat::yuv420p},
                                     {"420mpeg2", PixelFormat::yuv420p},
                                     {"420paldv", PixelFormat::yuv420p},
                                     {"420", PixelFormat::yuv420p},
                                     {"444", PixelFormat::yuv444p},
                                     {"420p10", PixelFormat::yuv420p10},
                                     {"444p10", PixelFormat::yuv444p10},
                                     {"mono", PixelFormat::gray8},
                                     {"mono16", PixelFormat::gray16}}) {
    const FrameFormat format =
        format_of(std::string("YUV4MPEG2 W853 H481 F30000:1001 Ip A1:1 C") + name);
    EXPECT_EQ(format.pixels, pixels) << name;
    EXPECT_EQ(format.width, 853u);
    EXPECT_EQ(format.height, 481u);
    EXPECT_EQ(format.rate, (FrameRate{30000, 1001}));
    EXPECT_EQ(format.range, ColorRange::limited);
  }
}

TEST(Y4mHeader, HasItsUsualDefaults) {
  EXPECT_EQ(format_of("YUV4MPEG2 W2 H2").pixels, PixelFormat::yuv420p);
  EXPECT_EQ(format_of("YUV4MPEG2 W2 H2 F0:0").rate, FrameRate{});
  EXPECT_EQ(format_of("YUV4MPEG2 W2 H2 F50:2").rate, (FrameRate{25, 1}));
  EXPECT_EQ(format_of("YUV4MPEG2 W2 H2 XCOLORRANGE=FULL").range, ColorRange::full);
  EXPECT_EQ(format_of("YUV4MPEG2 W1280 H2").matrix, ColorMatrix::bt709);
  EXPECT_EQ(format_of("YUV4MPEG2  W640  H480  ").matrix, ColorMatrix::bt601);
}

TEST(Y4mHeader, RefusesWhatIsHostile) {
  for (const char* const line :
       {"", "YUV4MPEG", "YUV4MPEG2", "YUV4MPEG2X W2 H2", "YUV4MPEG2 W2", "YUV4MPEG2 H2",
        "YUV4MPEG2 W0 H2", "YUV4MPEG2 W-1 H2", "YUV4MPEG2 W2 H99999999999999999999",
        "YUV4MPEG2 W32769 H2", "YUV4MPEG2 W32768 H32768 C444p10", "YUV4MPEG2 W H2",
        "YUV4MPEG2 W2x H2", "YUV4MPEG2 W2 H2 F25", "YUV4MPEG2 W2 H2 F:", "YUV4MPEG2 W2 H2 F-1:2",
        "YUV4MPEG2 W2 H2 C422", "YUV4MPEG2 W2 H2 C", "RIFF W2 H2"}) {
    EXPECT_FALSE(parse_y4m_header(line)) << line;
  }
  EXPECT_THAT(parse_y4m_header("YUV4MPEG2 W2 H2 C4\x1b[31m").error().what, HasSubstr("4?[31m"));
}

using Y4m = SourceTest;

TEST_F(Y4m, GivesItsFrames) {
  const auto path = write("a.y4m", "YUV4MPEG2 W3 H1 F25:1 Cmono\nFRAME\nabcFRAME Ip\ndef");
  const auto source = open_frame_source(path);
  EXPECT_FALSE(source->count());
  EXPECT_EQ(read_all(*source), (std::vector<std::string>{"abc", "def"}));
  EXPECT_EQ(open_frame_source(path, {.rate = FrameRate{50, 1}})->format().rate, (FrameRate{50, 1}));
}

TEST_F(Y4m, EndsWithAnErrorThatNamesTheFrame) {
  const std::string head = "YUV4MPEG2 W3 H1 F25:1 Cmono\nFRAME\nabc";
  for (const auto& [bytes, says] :
       {std::pair<std::string, const char*>{"FRAME\nde", "within frame 1"},
        {"FRAME\n", "within frame 1"},
        {"FRAME", "frame 1 does not begin"},
        {"FRAMEX\ndef", "frame 1 does not begin"},
        {"x", "frame 1 does not begin"},
        {std::string(10000, 'F'), "frame 1 does not begin"}}) {
    const auto source = open_frame_source(write("a.y4m", head + bytes));
    EXPECT_THAT(complaint([&] { read_all(*source); }), HasSubstr(says)) << bytes;
  }
  EXPECT_THAT(complaint([&] {
                static_cast<void>(open_frame_source(
                    write("b.y4m", "YUV4MPEG2 W3 H1 X" + std::string(5000, 'x') + "\nFRAME\nabc")));
              }),
              HasSubstr("does not end"));
  EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(write("c.y4m", ""))); }),
              HasSubstr("no y4m stream"));
}

TEST_F(Y4m, ComesThroughAPipeInAnyPieces) {
  const std::string path = folder + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string bytes = "YUV4MPEG2 W3 H1 F25:1 Cmono\nFRAME\nabcFRAME\ndef";
  std::thread writer([&] {
    std::ofstream pipe(path, std::ios::binary);
    for (const char c : bytes) pipe.put(c).flush();
  });
  const auto source = open_frame_source(path, {.format = "y4m"});
  EXPECT_EQ(read_all(*source), (std::vector<std::string>{"abc", "def"}));
  writer.join();
}

TEST_F(Y4m, AWaitForAPipeCanBeCancelled) {
  const std::string path = folder + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop.request_stop();
  });
  try {
    static_cast<void>(open_frame_source(path, {.format = "y4m", .cancel = stop.get_token()}));
    FAIL() << "nobody wrote";
  } catch (const DataError& error) {
    EXPECT_EQ(error.error().code, ErrorCode::cancelled);
  }
  later.join();
}

}  // namespace
}  // namespace offramp
