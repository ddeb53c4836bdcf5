// SPDX-License-Identifier: Apache-2.0
// Races, with a negative control: a device that leaves out a wait must corrupt what these tests
// look at, or they prove nothing. And what many writers and many chunks leave behind.
#include "unit/frame_writer/frame_writer_kit.hpp"

#include <dirent.h>

#include <fstream>

namespace offramp::testing_frame_writer {
namespace {

constexpr testing_frames::Size wide{.width = 256, .height = 64};

/// Runs a producer that fills its source late, on its stream, and poisons it as soon as it is let
/// go of. @returns how many frames came out wrong.
int corrupted(LeftOut left_out, std::size_t device_slots, int rounds) {
  LeakyDevice device(left_out);
  const auto sink = std::make_shared<KeepingFrameSink>();
  FrameFormat format;
  format.width = wide.width;
  format.height = wide.height;
  FrameWriterSettings settings;
  settings.device = &device;
  settings.device_slots = device_slots;
  struct Produce {
    Bytes* source;
    std::byte value;
  };
  {
    const Stream stream = device.make_stream();
    device.producer = stream.ref().native();
    Bytes source(format.size(), std::byte{0xee});
    FrameView view = testing_frames::make_sample({.dtype = DType::u8, .size = wide}).view;
    view.data = source.data();
    view.range = usual_range(DType::u8);
    FrameWriter writer(settings, format, sink);
    for (int round = 0; round < rounds; ++round) {
      Produce produce{&source, std::byte(round % 200)};
      device.call_async(
          stream,
          [](void* arg) noexcept {
            const auto& work = *static_cast<Produce*>(arg);
            std::this_thread::sleep_for(1ms);
            std::ranges::fill(*work.source, work.value);
          },
          &produce);
      // What lets go of the source is told by its own thread, as a pool would be.
      std::atomic<bool> gone{false};
      std::shared_ptr<const void> owner(source.data(), [&](const void*) {
        std::ranges::fill(source, std::byte{0xee});
        gone = true;
      });
      const Ticket ticket = writer.submit(stream, view, std::move(owner));
      static_cast<void>(ticket.wait_staged());
      EXPECT_TRUE(gone) << "staged before its source was let go of";
      if (left_out != LeftOut::nothing) stream.ref().sync();
    }
    writer.close();
  }
  int wrong = 0;
  for (std::size_t at = 0; at < sink->frames.size(); ++at) {
    const auto expected = std::byte(at % 200);
    wrong += std::ranges::all_of(sink->frames[at], [&](std::byte byte) { return byte == expected; })
                 ? 0
                 : 1;
  }
  EXPECT_EQ(sink->frames.size(), static_cast<std::size_t>(rounds));
  return wrong;
}

TEST(FrameWriterRace, ASourceLetGoOfEarlyIsNeverReadAgain) {
  EXPECT_EQ(corrupted(LeftOut::nothing, 0, 200), 0);
  EXPECT_EQ(corrupted(LeftOut::nothing, 2, 200), 0);
}

TEST(FrameWriterRace, WithoutTheWaitForTheProducerItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  EXPECT_GT(corrupted(LeftOut::producer_sync, 0, 50), 0);
  EXPECT_GT(corrupted(LeftOut::producer_sync, 2, 50), 0);
#endif
}

TEST(FrameWriterRace, WithoutTheWaitForConversionAndCopyItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  EXPECT_GT(corrupted(LeftOut::event_sync, 0, 50), 0);
  EXPECT_GT(corrupted(LeftOut::event_sync, 2, 50), 0);
#endif
}

std::size_t threads_now() {
  std::size_t count = 0;
  DIR* const folder = opendir("/proc/self/task");
  if (!folder) return 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

std::size_t resident_pages() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

/// That `work` leaves the process with the memory that it had.
template <class Work>
void expect_flat(Work work) {
  const std::size_t pages = resident_pages();
  work();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own memory grows
  EXPECT_LT(resident_pages(), pages + 256) << "1 MiB";
#else
  static_cast<void>(pages);
#endif
}

/// Keeps nothing.
class ForgettingSink final : public FrameSink {
 public:
  explicit ForgettingSink(bool codes) : codes_(codes) {}
  std::span<const PixelFormat> formats() const noexcept override {
    static constexpr std::array one{PixelFormat::rgb24};
    return one;
  }
  void begin(const FrameFormat&) override {}
  bool codes_alone() const noexcept override { return codes_; }
  void encode(std::span<const std::byte> frame, std::vector<std::byte>& out) const override {
    out.assign(frame.begin(), frame.end());
  }
  void write(std::uint64_t, std::span<const std::byte>) override { ++frames_; }
  void finish() override {}
  std::uint64_t bytes_out() const noexcept override { return 0; }
  std::uint64_t frames_out() const noexcept override { return frames_; }

 private:
  const bool codes_;
  std::uint64_t frames_{0};
};

class FrameWriterMany : public FrameWriterBase {};

INSTANTIATE_TEST_SUITE_P(Devices, FrameWriterMany, testing::Values(Case{0, true}, Case{2, false}),
                         name_of_case);

TEST_P(FrameWriterMany, AHundredWritersLeaveNoThreadAndNoMemory) {
  const Sample sample = frames_of(3, 1);
  const auto open_and_close = [&](int count) {
    for (int at = 0; at < count; ++at) {
      sink = new_sink();
      FrameWriter writer = this->writer();
      writer.submit(stream, sample.view);
      if (at % 3 == 0) writer.close();
      if (at % 3 == 1) writer.cancel();
    }
  };
  open_and_close(50);  // what the first ones leave in caches is no leak
  const std::size_t threads = threads_now();
  expect_flat([&] { open_and_close(100); });
  EXPECT_TRUE(eventually([&] { return threads_now() <= threads; }))
      << threads_now() << " threads, " << threads << " before";
}

TEST_P(FrameWriterMany, TenThousandChunksLeaveMemoryFlat) {
  leaky.latency = 0us;
  const Sample sample = frames_of(3, 1);
  FrameWriter writer(settings(), small_format(), std::make_shared<ForgettingSink>(codes()));
  const auto submit = [&](int count) {
    for (int at = 0; at < count; ++at) writer.submit(stream, sample.view);
  };
  submit(500);
  expect_flat([&] { submit(10'000); });
  writer.close();
  EXPECT_EQ(writer.counters().parts_out, 31'500u);
}

}  // namespace
}  // namespace offramp::testing_frame_writer
