// SPDX-License-Identifier: Apache-2.0
#include "source_files.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace offramp {
namespace {

using namespace testing_sources;
using ::testing::HasSubstr;

class Raw : public SourceTest {
 protected:
  FrameSourceOptions described{
      .format = "raw", .pixels = PixelFormat::rgb24, .width = 1, .height = 2};
};

TEST_F(Raw, GivesItsFrames) {
  const auto source = open_frame_source(write("a.raw", "abcdefghijkl"), described);
  EXPECT_EQ(source->count(), 2u);
  EXPECT_EQ(source->format().size(), 6u);
  EXPECT_EQ(read_all(*source), (std::vector<std::string>{"abcdef", "ghijkl"}));
}

TEST_F(Raw, KeepsWhatItIsToldOfColour) {
  described.pixels = PixelFormat::yuv444p;
  described.matrix = ColorMatrix::bt709;
  described.range = ColorRange::full;
  described.rate = FrameRate{30000, 1001};
  const FrameFormat format = open_frame_source(write("a.yuv", "abcdef"), described)->format();
  EXPECT_EQ(format.matrix, ColorMatrix::bt709);
  EXPECT_EQ(format.range, ColorRange::full);
  EXPECT_EQ(format.rate, (FrameRate{30000, 1001}));
}

TEST_F(Raw, ACutFrameIsNamed) {
  const auto source = open_frame_source(write("a.raw", "abcdefgh"), described);
  EXPECT_EQ(source->count(), 2u);
  EXPECT_THAT(complaint([&] { read_all(*source); }), HasSubstr("within frame 1, after 2 of 6"));
}

TEST_F(Raw, MustSayWhatItIs) {
  const auto path = write("a.raw", "abcdef");
  for (FrameSourceOptions options :
       {FrameSourceOptions{}, FrameSourceOptions{.pixels = PixelFormat::rgb24},
        FrameSourceOptions{.width = 1, .height = 2}}) {
    EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(path, options)); }),
                HasSubstr("--pixel-format rgb24 --size 640x480"));
  }
  described.width = 0;
  EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(path, described)); }),
              HasSubstr("0x2 cannot be read"));
  described.width = 32768;
  described.height = 32768;
  EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(path, described)); }),
              HasSubstr("cannot be read"));
}

TEST_F(Raw, AnEmptyFileHasNoFrames) {
  const auto source = open_frame_source(write("a.raw", ""), described);
  EXPECT_EQ(source->count(), 0u);
  EXPECT_TRUE(read_all(*source).empty());
}

TEST_F(Raw, WhatCannotBeOpenedIsTheMachines) {
  EXPECT_THROW(static_cast<void>(open_frame_source(folder + "/none.raw", described)), IoError);
  EXPECT_THROW(static_cast<void>(open_frame_source(folder, described)), IoError);
  EXPECT_THAT(complaint([&] { static_cast<void>(open_frame_source(folder, {.format = "film"})); }),
              HasSubstr("use video, images, y4m or raw"));
}

}  // namespace
}  // namespace offramp
