// SPDX-License-Identifier: Apache-2.0
// Races, with negative controls: an offloader that leaves out a wait must corrupt what these tests
// look at, or they prove nothing. The link is a slow one.
#include "contract/offload_kit.hpp"
#include "unit/engine/leaky_device.hpp"

namespace offramp::testing_offload {
namespace {

/// Rounds of one tensor each, through a sink that poisons what it was given. @returns how many
/// came out wrong.
int corrupted(Device& device, MissingWait missing, const char* codec_name, int rounds) {
  const auto sink = std::make_shared<PoisonedSink>();
  OffloaderSettings settings = small_offloader(device);
  settings.device_slots = 1;
  const Stream stream = device.make_stream();
  std::vector<OnDevice> tensors;
  for (unsigned at = 0; at < 7; ++at) {
    tensors.push_back(put(device, stream, bf16(4000), smooth_bytes(8000, at)));
  }
  const auto core = std::make_shared<OffloadCore>(settings, codec(codec_name), sink, missing);
  core->start();
  for (const OnDevice& tensor : tensors) sink->expected.push_back(tensor.bytes);
  sink->got.resize(tensors[0].bytes.size());
  for (int round = 0; round < rounds; ++round) {
    const ChunkTensor part = whole_of("t", tensors[static_cast<std::size_t>(round) % 7]);
    core->submit(stream, {.tensors = {&part, 1}, .keep_alive = {}}, nullptr);
  }
  core->close(std::nullopt);
  core->end_all();
  EXPECT_EQ(sink->seen, static_cast<std::size_t>(rounds));
  return sink->wrong;
}

TEST(OffloadRace, WithItsWaitsNothingIsEverCorrupted) {
  EXPECT_EQ(corrupted(host_device(), MissingWait::none, "exact", 10'000), 0);
  LeakyDevice slow(LeftOut::nothing);
  EXPECT_EQ(corrupted(slow, MissingWait::none, "exact", 300), 0);
  EXPECT_EQ(corrupted(slow, MissingWait::none, "store", 300), 0);
}

TEST(OffloadRace, WithoutTheWaitForTheSlotItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  LeakyDevice slow(LeftOut::nothing);
  EXPECT_GT(corrupted(slow, MissingWait::slot, "exact", 100), 0);
#endif
}

TEST(OffloadRace, WithoutTheWaitForTheCopyItCorrupts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race is real, and the sanitizer stops it";
#else
  LeakyDevice slow(LeftOut::nothing);
  EXPECT_GT(corrupted(slow, MissingWait::landing, "exact", 100), 0);
  EXPECT_GT(corrupted(slow, MissingWait::landing, "store", 100), 0);
#endif
}

TEST(OffloadRace, DeviceMemoryIsGivenBackBehindTheCopiesThatReadIt) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "what the sink is given has not arrived, on purpose, and the sanitizer stops it";
#else
  LeakyDevice slow(LeftOut::nothing);
  const Stream stream = slow.make_stream();
  {
    const OnDevice tensor = put(slow, stream, bf16(4000), smooth_bytes(8000, 1));
    const auto sink = std::make_shared<PoisonedSink>();
    sink->expected.push_back(tensor.bytes);
    const auto core = std::make_shared<OffloadCore>(small_offloader(slow), codec("exact"), sink,
                                                    MissingWait::landing);
    core->start();
    const ChunkTensor part = whole_of("t", tensor);
    for (int round = 0; round < 3; ++round)
      core->submit(stream, {.tensors = {&part, 1}, .keep_alive = {}}, nullptr);
    core->close(std::nullopt);
    core->end_all();
  }
  stream.ref().sync();
  EXPECT_FALSE(slow.freed_while_copying);
#endif
}

}  // namespace
}  // namespace offramp::testing_offload
