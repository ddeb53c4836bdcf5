// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/failing_new.hpp"
#include "unit/frame_writer/frame_writer_kit.hpp"

#include <offramp/core/error.hpp>

#include <system_error>

namespace offramp::testing_frame_writer {
namespace {

using testing_engine::allocation_failed;
using testing_engine::allocations;
using testing_engine::fail_allocation_after;

/// Takes everything and keeps nothing, so that it allocates nothing.
class NullSink final : public FrameSink {
 public:
  explicit NullSink(bool codes) : codes_(codes) {}
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

class FrameWriterAlloc : public FrameWriterBase {};

INSTANTIATE_TEST_SUITE_P(Devices, FrameWriterAlloc,
                         testing::Values(Case{0, false}, Case{0, true}, Case{2, false},
                                         Case{2, true}),
                         name_of_case);

TEST_P(FrameWriterAlloc, InSteadyStateNothingIsAllocated) {
  auto with = settings();
  with.trace = std::make_shared<Trace>(100);
  const Sample sample = frames_of(5, 1);
  const std::size_t own_streams = leaky.streams().size();
  FrameWriter writer(with, small_format(), std::make_shared<NullSink>(codes()));
  const auto owner = std::make_shared<const int>(1);
  const auto run = [&](int chunks) {
    Ticket last;
    for (int at = 0; at < chunks; ++at) {
      writer.submit(stream, sample.view, owner);
      last = writer.submit(writer.acquire(), 1 + static_cast<std::size_t>(at) % 2);
    }
    EXPECT_TRUE(last.wait_durable());
  };
  {
    // As many conversions under way as ever will be: each has a job on the host's streams.
    const Sample many = frames_of(40, 1);
    std::vector<std::unique_ptr<Latch>> gates;
    if (GetParam().device_slots == 0) {
      gates.push_back(std::make_unique<Latch>(stream, device()));
    } else {
      const std::vector<Stream*> streams = leaky.streams();
      for (std::size_t at = own_streams; at < streams.size(); ++at) {
        gates.push_back(std::make_unique<Latch>(*streams[at], host_device()));
      }
    }
    writer.submit(stream, many.view);
    EXPECT_TRUE(eventually([&] {
      const Counters now = writer.counters();
      return GetParam().device_slots > 0 ? now.device_slots_peak == now.device_slots
                                         : now.host_slots_peak == now.host_slots;
    }));
    for (const auto& gate : gates) gate->open();
    run(200);
  }
  const std::size_t before = allocations();
  run(500);
  EXPECT_EQ(allocations() - before, 0u);
  EXPECT_EQ(writer.counters().regrown_buffers, 0u);
  writer.close();
}

TEST_P(FrameWriterAlloc, AFailedAllocationAnywhereEndsClean) {
  const Sample sample = frames_of(5, 1);
  std::size_t failures = 0;
  for (std::size_t skip = 0; skip < 2000; ++skip) {
    const auto run = [&] {
      FrameWriter writer(settings(), small_format(), std::make_shared<NullSink>(codes()));
      for (int at = 0; at < 3; ++at) writer.submit(stream, sample.view);
      writer.close();
      return writer.counters().parts_out;
    };
    fail_allocation_after(skip);
    try {
      const std::uint64_t frames = run();
      const bool failed = allocation_failed();
      fail_allocation_after(SIZE_MAX);
      EXPECT_EQ(frames, 15u);
      if (!failed) break;  // it never got to the failing one
    } catch (const std::bad_alloc&) {
      ++failures;
    } catch (const OutOfMemory&) {
      ++failures;
    } catch (const std::system_error&) {
      ++failures;  // a thread that could not start
    }
    fail_allocation_after(SIZE_MAX);
  }
  EXPECT_GT(failures, 20u);
}

}  // namespace
}  // namespace offramp::testing_frame_writer
