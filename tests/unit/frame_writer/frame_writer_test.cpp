// SPDX-License-Identifier: Apache-2.0
#include "unit/frame_writer/frame_writer_kit.hpp"

#include <offramp/core/error.hpp>

#include <set>

namespace offramp::testing_frame_writer {
namespace {

class FrameWriterTest : public FrameWriterBase {};

INSTANTIATE_TEST_SUITE_P(Devices, FrameWriterTest,
                         testing::Values(Case{0, false}, Case{0, true}, Case{2, false},
                                         Case{2, true}, Case{1, false}),
                         [](const auto& test) {
                           return name_of_case(test) + std::to_string(test.index);
                         });

TEST_P(FrameWriterTest, WritesWhatConvertMakesInOrder) {
  std::vector<Sample> samples;
  std::uint64_t raw = 0;
  std::uint64_t seed = 1;
  for (const DType dtype : testing_frames::all_sources) {
    for (const Layout layout : testing_frames::all_layouts) {
      samples.push_back(frames_of(1 + seed % 5, seed, dtype, layout));
      ++seed;
    }
  }
  std::vector<Ticket> tickets;
  FrameWriter writer = this->writer();
  EXPECT_EQ(sink->begun, small_format());
  for (const Sample& sample : samples) {
    tickets.push_back(writer.submit(stream, sample.view));
    expect(sample.view);
    raw += sample.view.frames * small.width * small.height * sample.view.channels *
           size_of(sample.view.dtype);
  }
  writer.close();
  check();
  EXPECT_TRUE(sink->finished);
  for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.state(), Ticket::State::durable);
  EXPECT_FALSE(writer.error());
  const Counters counters = writer.counters();
  EXPECT_EQ(counters.chunks_in, samples.size());
  EXPECT_EQ(counters.chunks_out, samples.size());
  EXPECT_EQ(counters.chunks_dropped, 0u);
  EXPECT_EQ(counters.parts_out, expected.size());
  EXPECT_EQ(counters.bytes_in, raw);
  EXPECT_EQ(counters.bytes_done, raw);
  EXPECT_EQ(counters.bytes_out, expected.size() * expected[0].size());
  EXPECT_EQ(counters.pageable_copies, 0u);
  EXPECT_EQ(counters.host_slots, 4u);
  EXPECT_LE(counters.host_slots_peak, 4u);
  EXPECT_EQ(counters.device_slots, GetParam().device_slots);
  EXPECT_EQ(counters.device_slots_peak > 0, GetParam().device_slots > 0);
}

TEST_P(FrameWriterTest, DrainsEveryCountOfFrames) {
  for (const std::uint64_t count : {1u, 2u, 3u, 41u, 161u}) {
    for (const bool at_once : {false, true}) {
      sink = new_sink();
      expected.clear();
      const Sample sample = frames_of(count, count);
      FrameWriter writer = this->writer();
      if (at_once) {
        writer.submit(stream, sample.view);
      } else {
        for (std::uint64_t at = 0; at < count; ++at)
          writer.submit(stream, sample.view.slice(at, 1));
      }
      writer.close();
      expect(sample.view);
      check();
      EXPECT_EQ(sink->frames_out(), count);
      EXPECT_EQ(writer.counters().parts_out, count);
    }
  }
}

TEST_P(FrameWriterTest, WritesVideoFormatsToo) {
  for (const PixelFormat pixels : {PixelFormat::yuv420p, PixelFormat::yuv444p10}) {
    sink = new_sink();
    expected.clear();
    const Sample sample = frames_of(7, 3, DType::bf16, Layout::cnhw, {.width = 5, .height = 3});
    FrameFormat format = small_format(pixels);
    format.width = 5;
    format.height = 3;
    FrameWriter writer(settings(), format, sink);
    writer.submit(stream, sample.view);
    writer.close();
    expect_frames(expected, sample.view, format, codes());
    check();
  }
}

// The producer goes on although its frames are not computed and need more slots than there are.
TEST_P(FrameWriterTest, NoSubmitWaitsForItsOwnFrames) {
  const Sample sample = frames_of(40, 1);
  Latch gate(stream, device());
  FrameWriter writer = this->writer();
  for (int at = 0; at < 3; ++at) {
    EXPECT_EQ(writer.submit(stream, sample.view).state(), Ticket::State::submitted);
    expect(sample.view);
  }
  EXPECT_EQ(writer.counters().stalls, 0u);
  gate.open();
  writer.close();
  check();
}

TEST_P(FrameWriterTest, KeepsTheFramesOfASubmitTogether) {
  std::vector<Sample> samples;
  for (std::uint64_t at = 0; at < 20; ++at) samples.push_back(frames_of(5, at + 1));
  FrameWriter writer = this->writer();
  {
    const auto produce = [&](std::size_t first) {
      const Stream own = device().make_stream();
      for (std::size_t at = first; at < samples.size(); at += 2) {
        writer.submit(own, samples[at].view);
      }
      own.ref().sync();
    };
    std::jthread one([&] { produce(0); });
    std::jthread other([&] { produce(1); });
  }
  writer.close();
  ASSERT_EQ(sink->frames.size(), 100u);
  std::size_t next[2] = {0, 1};
  for (std::size_t at = 0; at < 100; at += 5) {
    for (std::size_t& sample : next) {
      if (sample >= samples.size()) continue;
      expected.clear();
      expect(samples[sample].view);
      if (sink->frames[at] != expected[0]) continue;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             sink->frames.begin() + static_cast<std::ptrdiff_t>(at)));
      sample += 2;
      break;
    }
  }
  EXPECT_EQ(next[0], 20u);
  EXPECT_EQ(next[1], 21u);
}

TEST_P(FrameWriterTest, RefusesWhatDoesNotFitAndGoesOn) {
  const Sample sample = frames_of(2, 1);
  const Sample larger = frames_of(1, 1, DType::fp32, Layout::nhwc, {.width = 19, .height = 10});
  FrameWriter writer = this->writer();
  writer.submit(stream, sample.view);
  EXPECT_THROW(writer.submit(stream, larger.view), LogicError);
  EXPECT_THROW(writer.submit(stream, sample.view.slice(0, 0)), LogicError);
  FrameView wrong = sample.view;
  wrong.data = nullptr;
  EXPECT_THROW(writer.submit(stream, wrong), LogicError);
  LeakyDevice another(LeftOut::nothing);
  const Stream other = another.make_stream();
  EXPECT_THROW(writer.submit(other, sample.view), LogicError);
  if (GetParam().device_slots > 0) {
    FrameView odd = sample.view;
    odd.data += 1;
    EXPECT_THROW(writer.submit(stream, odd), LogicError) << "kernels read whole values";
  }
  EXPECT_EQ(writer.counters().chunks_in, 1u);
  const Sample bytes = frames_of(3, 2, DType::u8);
  writer.submit(stream, bytes.view);
  writer.close();
  expect(sample.view);
  expect(bytes.view);
  check();
  EXPECT_THROW(writer.submit(stream, sample.view), LogicError) << "after close";
  EXPECT_THROW(static_cast<void>(writer.acquire()), LogicError) << "after close";
  writer.close();
  EXPECT_EQ(writer.counters().chunks_in, 2u);
}

TEST_P(FrameWriterTest, RefusesSettingsThatContradictThemselves) {
  const auto refused = [&](const FrameFormat& format, FrameWriterSettings with,
                           std::shared_ptr<FrameSink> to) {
    EXPECT_THROW(FrameWriter(std::move(with), format, std::move(to)), LogicError);
    EXPECT_FALSE(sink->begun);
  };
  refused(small_format(PixelFormat::gray8), settings(), sink);
  refused(FrameFormat{}, settings(), sink);
  refused(small_format(), settings(), nullptr);
  FrameWriterSettings none = settings();
  none.submits = 0;
  refused(small_format(), none, sink);
}

TEST_P(FrameWriterTest, TakesFinishedFramesInPlace) {
  FrameWriter writer = this->writer();
  const std::size_t size = small_format().size();
  for (int round = 0; round < 30; ++round) {
    const Sample sample = frames_of(5, static_cast<std::uint64_t>(round) + 1);
    if (round % 3 == 0) {
      static_cast<void>(writer.submit(stream, sample.view).wait_staged());
      expect(sample.view);
    }
    FrameWriter::Slot slot = writer.acquire();
    ASSERT_EQ(slot.bytes().size(), 2 * size);
    const std::size_t count = 1 + static_cast<std::size_t>(round) % 2;
    convert(sample.view.slice(0, count), small_format(), slot.bytes().data());
    const Ticket ticket = writer.submit(std::move(slot), count);
    EXPECT_TRUE(ticket.wait_staged());
    expect(sample.view.slice(0, count));
  }
  EXPECT_THROW(writer.submit(writer.acquire(), 0), LogicError);
  EXPECT_THROW(writer.submit(writer.acquire(), 3), LogicError);
  static_cast<void>(writer.acquire());  // and given back
  writer.close();
  check();
  EXPECT_EQ(writer.counters().chunks_out, 40u);
}

// Slots that are held, and submitted behind views, leave these the slot that they need.
TEST_P(FrameWriterTest, SlotsInPlaceNeverHoldUpSubmitsBeforeThem) {
  const Sample sample = frames_of(9, 1);
  const Sample one = frames_of(1, 2);
  FrameWriter writer = this->writer();
  std::vector<FrameWriter::Slot> slots;
  for (int at = 0; at < 3; ++at) slots.push_back(writer.acquire());
  std::atomic<bool> over{false};
  std::jthread other([&] {
    const FrameWriter::Slot last = writer.acquire();
    over.wait(false);
  });
  EXPECT_TRUE(eventually([&] { return writer.counters().stalls == 1; })) << "one is left";
  const Ticket first = writer.submit(stream, sample.view);
  expect(sample.view);
  for (FrameWriter::Slot& slot : slots) {
    convert(one.view, small_format(), slot.bytes().data());
    writer.submit(std::move(slot), 1);
    expect(one.view);
  }
  EXPECT_TRUE(first.wait_durable_until(Ticket::Clock::now() + 20s));
  over = true;
  over.notify_all();
  other.join();
  writer.close();
  check();
}

TEST_P(FrameWriterTest, ASlowSinkHoldsTheProducerUpInBoundedMemory) {
  const Sample sample = frames_of(2, 1);
  FrameWriter writer = this->writer();
  sink->gate.shut();
  std::atomic<int> submitted{0};
  std::jthread producer([&] {
    for (int at = 0; at < 60; ++at) {
      writer.submit(stream, sample.view);
      ++submitted;
    }
  });
  ASSERT_TRUE(eventually([&] { return writer.counters().stalls > 0; }));
  std::this_thread::sleep_for(30ms);
  // Submits that wait, a device slot each, host slots and coded slots; not more.
  EXPECT_LE(submitted, 3 + 2 + 4 + 4);
  sink->gate.open();
  producer.join();
  writer.close();
  for (int at = 0; at < 60; ++at) expect(sample.view);
  check();
  const Counters counters = writer.counters();
  EXPECT_GT(counters.stall_ns, 20'000'000u);
  EXPECT_EQ(counters.host_slots_peak, 4u);
}

TEST_P(FrameWriterTest, DropsWholeSubmitsWhereItMay) {
  auto with = settings();
  with.overflow = Overflow::drop;
  const Sample sample = frames_of(3, 1);
  FrameWriter writer = this->writer(with);
  sink->gate.shut();
  std::size_t dropped = 0;
  for (int at = 0; at < 200; ++at) {
    const Ticket ticket = writer.submit(stream, sample.view);
    if (ticket.state() == Ticket::State::dropped) {
      EXPECT_TRUE(ticket.wait_staged());
      ++dropped;
    } else {
      expect(sample.view);
    }
  }
  EXPECT_EQ(writer.counters().stalls, 0u);
  sink->gate.open();
  writer.close();
  check();
  const Counters counters = writer.counters();
  EXPECT_GT(dropped, 150u);
  EXPECT_EQ(counters.chunks_in, 200u);
  EXPECT_EQ(counters.chunks_dropped, dropped);
  EXPECT_EQ(counters.chunks_in, counters.chunks_out + counters.chunks_dropped);
}

TEST_P(FrameWriterTest, ReportsFramesThatTheSinkLost) {
  sink->lost = 1;
  const Sample sample = frames_of(3, 1);
  FrameWriter writer = this->writer();
  writer.submit(stream, sample.view);
  try {
    writer.close();
    ADD_FAILURE() << "a frame is missing";
  } catch (const LogicError& error) {
    EXPECT_STREQ(error.what(), "frames were lost: 3 were submitted, the sink holds 2");
  }
}

TEST_P(FrameWriterTest, ReportsProgressAndSpansOfWork) {
  auto with = settings();
  with.trace = std::make_shared<Trace>();
  std::uint64_t frames = 0;
  with.on_progress = [&](const Counters& now) { frames = now.parts_out; };
  const Sample sample = frames_of(4, 1);
  FrameWriter writer = this->writer(with);
  for (int at = 0; at < 3; ++at) writer.submit(stream, sample.view);
  writer.close();
  EXPECT_EQ(frames, 12u);
  const std::string json = with.trace->to_json();
  std::set<std::string> stages{"compute", "convert", "encode", "write", "finish"};
  if (GetParam().device_slots > 0) stages.insert("copy");
  for (const std::string& stage : stages) {
    EXPECT_NE(json.find("\"name\":\"" + stage + "\",\"ts\""), std::string::npos) << stage;
  }
  EXPECT_NE(json.find("\"chunk\":2"), std::string::npos);
  EXPECT_EQ(json.find("\"chunk\":5"), std::string::npos) << "three submits, whatever their slots";
}

TEST_P(FrameWriterTest, TakesSourcesThatTheDeviceReachesSlowly) {
  if (GetParam().device_slots == 0) GTEST_SKIP() << "the host reaches everything";
  leaky.pageable = true;
  for (const std::size_t slots : {std::size_t{0}, GetParam().device_slots}) {
    sink = new_sink();
    expected.clear();
    auto with = settings();
    with.device_slots = slots;
    FrameWriter writer = this->writer(with);
    const Sample sample = frames_of(7, 1, DType::bf16, Layout::cnhw);
    for (int at = 0; at < 5; ++at) {
      Sample copy = sample;
      copy.view = sample.at(copy.bytes.data());
      expect(copy.view);
      const auto ticket = writer.submit(stream, copy.view);
      static_cast<void>(ticket.wait_staged());
      std::ranges::fill(copy.bytes, std::byte{0xee});
    }
    writer.close();
    check();
    EXPECT_EQ(writer.counters().pageable_copies, 5u * 4);
  }
}

}  // namespace
}  // namespace offramp::testing_frame_writer
