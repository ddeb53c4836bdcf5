// SPDX-License-Identifier: Apache-2.0
// Disks that are full, pipes that nobody reads, processes that are killed.
#include "contract/frame_sink/frame_sink_kit.hpp"

#include <offramp/core/error.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace offramp::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FrameSinkFault : public FolderTest, public ::testing::WithParamInterface<SinkCase> {};

// No file grows beyond so many bytes while it lives: a full disk, for one process.
class FullAt {
 public:
  explicit FullAt(rlim_t size) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = size, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullAt() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }
  FullAt(const FullAt&) = delete;
  FullAt& operator=(const FullAt&) = delete;

 private:
  rlimit before_{};
  void (*before_handler_)(int){};
};

TEST_P(FrameSinkFault, FullDiskNamesTheFrameAndKeepsWholeOnes) {
  const SinkCase& kind = GetParam();
  if (kind.path.find("shot") != std::string::npos) GTEST_SKIP() << "each picture is a file";
  auto sink = make(kind);
  std::uint64_t at_frame = 0;
  try {
    const FullAt full(kind.coded ? 20'000 : 3 * kind.format().size() + 300);
    sink->begin(kind.format());
    for (; at_frame < 2000; ++at_frame) write_sample(*sink, kind.format(), at_frame);
    FAIL() << "the disk did not fill";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), EFBIG);
    EXPECT_THAT(error.what(), HasSubstr("frame " + std::to_string(at_frame)));
    EXPECT_THAT(error.what(), HasSubstr(at(kind.path)));
  }
  EXPECT_FALSE(fs::exists(at(kind.path)));
  sink->keep_partial();
  const std::string partial = sink->partial_path();
  sink.reset();
  if (kind.coded && partial.empty()) GTEST_SKIP() << "not one piece was whole";
  ASSERT_EQ(entries().size(), 1u);
  const std::vector<Bytes> frames = read_back(kind, partial);
  if (!kind.coded) {
    EXPECT_EQ(frames.size(), at_frame);
  } else {
    ASSERT_GE(frames.size(), 12u);
    EXPECT_EQ(frames.size() % 12, 0u) << "cut in the middle of a piece";
  }
  const std::size_t certain = frames.size() - (kind.coded ? 12 : 0);  // as below
  for (std::size_t number = 0; number < certain; ++number) {
    EXPECT_GT(psnr(kind.format(), frames[number], sample_frame(kind.format(), number)), 36);
  }
}

TEST_P(FrameSinkFault, FullDeviceIsAnError) {
  SinkCase kind = GetParam();
  if (kind.path.find("shot") != std::string::npos) GTEST_SKIP() << "a device is no folder";
  kind.options.format = kind.path.substr(kind.path.rfind('.') + 1);
  if (kind.options.format == "rgb") kind.options.format = "raw";
  kind.options.overwrite = true;
  const auto sink = make_frame_sink("/dev/full", kind.options);
  try {
    write_samples(*sink, kind.format(), 3);
    sink->finish();
    FAIL() << "wrote to a full device";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ENOSPC);
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
  }
}

// A killed process leaves what it has written, under whatever name: the copy is what it would find.
TEST_P(FrameSinkFault, KilledAtAnyFrameLeavesWholeOnes) {
  const SinkCase& kind = GetParam();
  if (kind.name.starts_with("npy") || kind.name.starts_with("safetensors")) {
    GTEST_SKIP() << "their header says how many frames there are, at the end";
  }
  const auto sink = make(kind);
  sink->begin(kind.format());
  // Newer versions of SVT-AV1 hold more frames than the others before the first comes out.
  const std::uint64_t count = kind.name.find("svtav1") != std::string::npos ? 240 : 60;
  for (std::uint64_t number = 0; number < count; ++number) {
    write_sample(*sink, kind.format(), number);
    if (number % 23 != 22 && number + 1 != count) continue;
    const std::string copy = at("copy" + fs::path(kind.path).extension().string());
    fs::copy(temporary(), copy, fs::copy_options::recursive);
    std::uint64_t expected = number + 1;
    if (kind.coded) {  // 24 frames a second, half a second a piece; a piece ends with the next
                       // frame
      const std::uint64_t packets = sink->frames_out();
      expected = packets == 0 ? 0 : (packets - 1) / 12 * 12;
    }
    std::vector<Bytes> frames;
    if (expected > 0) frames = read_back(kind, copy);
    EXPECT_EQ(frames.size(), expected);
    // Pieces are cut in the order of coding: among the last pictures one may be of a later frame.
    const std::size_t certain =
        frames.size() - std::min<std::size_t>(frames.size(), kind.coded ? 12 : 0);
    for (std::size_t i = 0; i < certain; ++i) {
      EXPECT_GT(psnr(kind.format(), frames[i], sample_frame(kind.format(), i)), 30) << i;
    }
    fs::remove_all(copy);
  }
  if (!kind.coded) return;
  EXPECT_GE(sink->frames_out(), 13u) << "nothing of the above was tested";
}

INSTANTIATE_TEST_SUITE_P(All, FrameSinkFault, ::testing::ValuesIn(sink_cases()),
                         [](const auto& row) { return row.param.name; });

class FrameSinkPipe : public FolderTest {};

TEST_F(FrameSinkPipe, ClosedPipeIsAnErrorAndNotTheEnd) {
  const SinkCase kind = sink_cases()[0];
  ASSERT_EQ(::mkfifo(at("pipe.rgb").c_str(), 0600), 0);
  const int reader = ::open(at("pipe.rgb").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  const auto sink = make_frame_sink(at("pipe.rgb"));
  sink->begin(kind.format());
  write_sample(*sink, kind.format(), 0);
  ::close(reader);
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  try {
    write_sample(*sink, kind.format(), 1);
    ADD_FAILURE() << "wrote to nobody";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), EPIPE);
    EXPECT_THAT(error.what(), HasSubstr("frame 1"));
  }
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "it comes later";
  std::signal(SIGPIPE, before);
  sink->keep_partial();
  EXPECT_EQ(sink->partial_path(), "");
}

TEST_F(FrameSinkPipe, AWaitForAReaderCanBeCancelled) {
  ASSERT_EQ(::mkfifo(at("pipe.rgb").c_str(), 0600), 0);
  std::stop_source stop;
  const auto sink = make_frame_sink(at("pipe.rgb"), {.cancel = stop.get_token()});
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop.request_stop();
  });
  try {
    sink->begin(sink_cases()[0].format());
    ADD_FAILURE() << "nobody read";
  } catch (const DataError& error) {
    EXPECT_EQ(error.error().code, ErrorCode::cancelled);
  }
  later.join();
}

TEST_F(FrameSinkPipe, AReaderThatComesLateGetsEverything) {
  const SinkCase kind = sink_cases()[0];
  ASSERT_EQ(::mkfifo(at("pipe.rgb").c_str(), 0600), 0);
  std::vector<Bytes> frames;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    frames = read_back(kind, at("pipe.rgb"));
  });
  const auto sink = make_frame_sink(at("pipe.rgb"));
  write_samples(*sink, kind.format(), 3);
  sink->finish();
  reader.join();
  EXPECT_EQ(frames.size(), 3u);
}

TEST_F(FrameSinkPipe, WritesToStandardOutput) {
  SinkCase kind{.path = "out.y4m", .pixels = PixelFormat::yuv420p};
  const int kept = ::dup(STDOUT_FILENO);
  const int to = ::open(at("out.y4m").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(to, 0);
  ::fflush(stdout);
  ::dup2(to, STDOUT_FILENO);
  const auto sink = make_frame_sink("-", {.format = "y4m"});
  write_samples(*sink, kind.format(), 3);
  sink->finish();
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(to);
  EXPECT_EQ(read_back(kind, at("out.y4m")).size(), 3u);
}

}  // namespace
}  // namespace offramp::testing
