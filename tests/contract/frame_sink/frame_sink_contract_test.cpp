// SPDX-License-Identifier: Apache-2.0
// What every frame sink has to keep, whatever it writes.
#include "contract/frame_sink/frame_sink_kit.hpp"

#include <offramp/core/error.hpp>

#include <gmock/gmock.h>

#include <cerrno>

namespace offramp::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrameSinkContract : public FolderTest, public ::testing::WithParamInterface<SinkCase> {
 protected:
  void expect_samples(const std::vector<Bytes>& frames, std::uint64_t count) const {
    const SinkCase& kind = GetParam();
    ASSERT_EQ(frames.size(), count);
    for (std::uint64_t number = 0; number < count; ++number) {
      const Bytes wanted = sample_frame(kind.format(), number);
      if (kind.exact) {
        EXPECT_TRUE(frames[number] == wanted) << "frame " << number;
      } else {
        EXPECT_GT(psnr(kind.format(), frames[number], wanted), 36) << "frame " << number;
      }
    }
  }
  [[nodiscard]] std::uint64_t stored() const {
    std::uint64_t size = 0;
    for (const auto& entry : fs::recursive_directory_iterator(at("."))) {
      if (entry.is_regular_file()) size += entry.file_size();
    }
    return size;
  }
};

TEST_P(FrameSinkContract, HoldsAllFramesOnceFinished) {
  const SinkCase& kind = GetParam();
  for (const std::uint64_t count : {1, 2, 3, 41}) {
    const auto sink = make(kind, true);
    EXPECT_THAT(sink->formats(), ::testing::Contains(kind.pixels));
    EXPECT_EQ(entries().empty(), count == 1) << "made before begin";
    write_samples(*sink, kind.format(), count);
    if (count == 1) {
      EXPECT_EQ(entries().size(), 1u);
      EXPECT_FALSE(temporary().empty()) << "its own name before finish: " << entries()[0];
    }
    sink->finish();
    EXPECT_EQ(sink->frames_out(), count);
    EXPECT_EQ(sink->bytes_out(), stored());
    EXPECT_EQ(temporary(), "");
    expect_samples(read_back(kind, at(kind.path)), count);
  }
}

TEST_P(FrameSinkContract, NoFrameIsAnEmptyFileOrAnError) {
  const SinkCase& kind = GetParam();
  auto sink = make(kind);
  write_samples(*sink, kind.format(), 0);
  if (kind.holds_none) {
    sink->finish();
    EXPECT_EQ(sink->frames_out(), 0u);
    EXPECT_THAT(read_back(kind, at(kind.path)), IsEmpty());
    return;
  }
  EXPECT_THROW(sink->finish(), DataError);
  sink.reset();
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_P(FrameSinkContract, DestroyedBeforeFinishLeavesNothing) {
  const SinkCase& kind = GetParam();
  auto sink = make(kind);
  sink.reset();
  EXPECT_THAT(entries(), IsEmpty());
  sink = make(kind);
  write_samples(*sink, kind.format(), 5);
  sink.reset();
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_P(FrameSinkContract, KeepsWhatWasWritten) {
  const SinkCase& kind = GetParam();
  auto sink = make(kind);
  write_samples(*sink, kind.format(), 5);
  sink->keep_partial();
  const std::string partial = sink->partial_path();
  sink.reset();
  ASSERT_NE(partial, "");
  EXPECT_THAT(partial, HasSubstr(".partial"));
  EXPECT_FALSE(fs::exists(at(kind.path)));
  EXPECT_EQ(entries().size(), 1u);
  expect_samples(read_back(kind, partial), 5);
}

TEST_P(FrameSinkContract, KeepsNothingOfNothing) {
  const SinkCase& kind = GetParam();
  auto sink = make(kind);
  write_samples(*sink, kind.format(), 0);
  sink->keep_partial();
  EXPECT_EQ(sink->partial_path(), "");
  sink.reset();
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_P(FrameSinkContract, ReplacesNothingUnasked) {
  const SinkCase& kind = GetParam();
  const auto first = make(kind);
  write_samples(*first, kind.format(), 2);
  first->finish();
  const std::uint64_t before = stored();
  try {
    const auto second = make(kind);
    second->begin(kind.format());
    FAIL() << "began over a file that exists";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), EEXIST);
    EXPECT_THAT(error.what(), HasSubstr("--overwrite"));
  }
  EXPECT_EQ(stored(), before);
  const auto third = make(kind, true);
  write_samples(*third, kind.format(), 1);
  EXPECT_GE(stored(), before) << "the old file is there until the new one is finished";
  third->finish();
  expect_samples(read_back(kind, at(kind.path)), 1);
}

TEST_P(FrameSinkContract, OfTwoOnOneFileTheFirstToFinishHasIt) {
  const SinkCase& kind = GetParam();
  const auto first = make(kind);
  auto second = make(kind);
  write_samples(*first, kind.format(), 2);
  write_samples(*second, kind.format(), 3);
  first->finish();
  try {
    second->finish();
    FAIL() << "replaced a file that it was not to replace";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), EEXIST);
  }
  second.reset();
  EXPECT_EQ(temporary(), "");
  expect_samples(read_back(kind, at(kind.path)), 2);
}

TEST_P(FrameSinkContract, OfTwoThatMayOverwriteTheLastToFinishHasIt) {
  const SinkCase& kind = GetParam();
  const auto first = make(kind, true);
  const auto second = make(kind, true);
  write_samples(*first, kind.format(), 3);
  write_samples(*second, kind.format(), 2);
  first->finish();
  second->finish();
  EXPECT_EQ(temporary(), "");
  expect_samples(read_back(kind, at(kind.path)), 2);
}

TEST_P(FrameSinkContract, RefusesAFormatItDoesNotTake) {
  const SinkCase& kind = GetParam();
  const auto refused = [&](FrameFormat format, const char* says) {
    try {
      make(kind)->begin(format);
      ADD_FAILURE() << "began: " << says;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
      EXPECT_THAT(error.what(), HasSubstr(at(kind.path)));
    }
    EXPECT_THAT(entries(), IsEmpty());
  };
  FrameFormat format = kind.format();
  if (kind.name.starts_with("y4m") || kind.coded) {
    format.pixels = PixelFormat::rgba64;
    refused(format, "rgba64");
  } else if (!kind.name.starts_with("raw")) {
    format.pixels = PixelFormat::yuv420p;
    refused(format, "yuv420p");
  }
  format = kind.format();
  format.width = 0;
  refused(format, "0 x");
  format = kind.format();
  format.rate = {24, 0};
  refused(format, "24/0");
}

TEST_P(FrameSinkContract, KeepsToItsOrder) {
  const SinkCase& kind = GetParam();
  const auto sink = make(kind);
  const Bytes frame = sample_frame(kind.format(), 0);
  if (!sink->codes_alone()) {
    EXPECT_THROW(sink->write(0, frame), LogicError) << "before begin";
    Bytes coded;
    EXPECT_THROW(sink->encode(frame, coded), LogicError);
  }
  sink->begin(kind.format());
  EXPECT_THROW(sink->write(1, frame), LogicError);
  EXPECT_EQ(sink->frames_out(), 0u);
}

TEST_P(FrameSinkContract, SaysWhichFolderIsMissing) {
  SinkCase kind = GetParam();
  kind.path = "nowhere/" + kind.path;
  try {
    make(kind)->begin(kind.format());
    FAIL() << "made a file in no folder";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ENOENT);
    EXPECT_THAT(error.what(), HasSubstr(at("nowhere")));
  }
}

TEST_P(FrameSinkContract, SaysHowManyFramesItHolds) {
  SinkCase kind = GetParam();
  EXPECT_EQ(make(kind)->frame_limit(), std::nullopt);
  if (!kind.path.ends_with(".png")) return;
  kind.path = "single.png";
  const auto sink = make(kind);
  ASSERT_EQ(sink->frame_limit(), 1u);
  sink->begin(kind.format());
  for (std::uint64_t number = 0; number < 2; ++number) {
    Bytes coded;
    sink->encode(Bytes(kind.format().size()), coded);
    if (number == 0) sink->write(number, coded);
    if (number == 1) {
      EXPECT_THROW(sink->write(number, coded), DataError);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FrameSinkContract, ::testing::ValuesIn(sink_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace offramp::testing
