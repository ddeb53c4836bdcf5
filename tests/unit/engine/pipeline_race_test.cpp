// SPDX-License-Identifier: Apache-2.0
// Races, with a negative control: a device that leaves out a wait must corrupt what these tests
// look at, or they prove nothing.
#include "unit/engine/engine_kit.hpp"
#include "unit/engine/leaky_device.hpp"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <fstream>

namespace offramp::testing_engine {
namespace {

struct Produce {
  Bytes* source;
  std::byte value;
};

/// Runs a producer that fills its source late, on its stream, and poisons it as soon as it is
/// told that it may. @returns how many chunks came out wrong.
int corrupted_chunks(LeftOut left_out, std::size_t device_slots, int rounds) {
  LeakyDevice device(left_out);
  const auto sink = std::make_shared<KeepingSink>();
  auto settings = small_settings(device_slots);
  settings.device = &device;
  int wrong = 0;
  {
    const Stream stream = device.make_stream();
    Bytes source(4096, std::byte{0xee});
    Pipeline pipeline(settings, codec("store"), sink);
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
      const Ticket ticket = submit_one(pipeline, stream, "t", source);
      static_cast<void>(ticket.wait_staged());
      // The copy is done, so the producer is; in the leaky variants neither may be.
      if (left_out != LeftOut::nothing) stream.ref().sync();
      std::ranges::fill(source, std::byte{0xee});
    }
    pipeline.close();
  }
  for (std::size_t at = 0; at < sink->records.size(); ++at) {
    const auto expected = std::byte(at % 200);
    if (!std::ranges::all_of(sink->records[at].payload,
                             [&](std::byte byte) { return byte == expected; })) {
      ++wrong;
    }
  }
  EXPECT_EQ(sink->records.size(), static_cast<std::size_t>(rounds));
  return wrong;
}

TEST(PipelineRace, WithItsBarriersNothingIsEverCorrupted) {
  EXPECT_EQ(corrupted_chunks(LeftOut::nothing, 0, 500), 0);
  EXPECT_EQ(corrupted_chunks(LeftOut::nothing, 2, 500), 0);
}

TEST(PipelineRace, WithoutTheWaitForTheProducerItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  EXPECT_GT(corrupted_chunks(LeftOut::stream_wait, 0, 100), 0);
  EXPECT_GT(corrupted_chunks(LeftOut::stream_wait, 2, 100), 0);
#endif
}

TEST(PipelineRace, WithoutTheWaitForTheCopyItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  EXPECT_GT(corrupted_chunks(LeftOut::event_sync, 0, 100), 0);
  EXPECT_GT(corrupted_chunks(LeftOut::event_sync, 2, 100), 0);
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

TEST(PipelineRace, AThousandPipelinesLeaveNoThreadAndNoMemory) {
  const Stream stream = host_device().make_stream();
  const Bytes source = smooth_bytes(3000, 1);
  const auto open_and_close = [&](int count) {
    for (int at = 0; at < count; ++at) {
      Pipeline pipeline(small_settings(at % 2 ? 2 : 0), codec(codec_names().back()),
                        std::make_shared<KeepingSink>());
      submit_one(pipeline, stream, "t", source);
      if (at % 3 == 0) pipeline.close();
      if (at % 3 == 1) pipeline.cancel();
    }
  };
  open_and_close(50);  // what the first ones leave in caches is no leak
  const std::size_t threads = threads_now();
  const std::size_t pages = resident_pages();
  open_and_close(1000);
  EXPECT_TRUE(eventually([&] { return threads_now() <= threads; }))
      << threads_now() << " threads, " << threads << " before";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own memory grows
  EXPECT_LT(resident_pages(), pages + 1024) << "4 MiB, where a slot more each would be 4";
#else
  static_cast<void>(pages);
#endif
}

}  // namespace
}  // namespace offramp::testing_engine
