// SPDX-License-Identifier: Apache-2.0
// What fails, when it fails, and that everything ends.
#include "engine/progress.hpp"
#include "unit/frame_writer/frame_writer_kit.hpp"

#include <offramp/core/error.hpp>

#include <exception>
#include <optional>
#include <stdexcept>

namespace offramp::testing_frame_writer {
namespace {

class FrameWriterFailure : public FrameWriterBase {
 protected:
  Sample sample = frames_of(3, 1);

  Ticket submit(FrameWriter& writer) { return writer.submit(stream, sample.view); }
  void submit_until_refused(FrameWriter& writer) {
    for (int at = 0; at < 10'000; ++at) submit(writer);
  }
  /// How a writer with this setting leaves its sink, after `work`.
  template <class Work>
  bool keeps_partial(bool setting, Work work) {
    sink = new_sink();
    auto with = settings();
    with.keep_partial = setting;
    {
      FrameWriter writer = this->writer(with);
      work(writer);
      EXPECT_FALSE(sink->kept) << "somebody may still be in the sink";
    }
    return sink->kept;
  }
};

TEST(FrameWriterWords, AFrameIsNamedOnce) {
  const auto words = [](const char* what, const char* unit) {
    return describe(std::make_exception_ptr(std::runtime_error(what)), "write", unit, 16).what;
  };
  EXPECT_EQ(words("the sink broke", "frame"), "the sink broke (write, frame 16)");
  EXPECT_EQ(words("cannot write frame 16: full", "frame"), "cannot write frame 16: full");
  EXPECT_EQ(words("cannot write the last frames, up to frame 15", "frame"),
            "cannot write the last frames, up to frame 15");
  EXPECT_EQ(words("no memory for a frame", "frame"), "no memory for a frame (write, frame 16)");
  EXPECT_EQ(words("frame 3", "chunk"), "frame 3 (write, chunk 16)");
  EXPECT_EQ(words("a broken frame ", "frame"), "a broken frame  (write, frame 16)");
}

INSTANTIATE_TEST_SUITE_P(Devices, FrameWriterFailure,
                         testing::Values(Case{0, false}, Case{0, true}, Case{2, false},
                                         Case{2, true}),
                         name_of_case);

TEST_P(FrameWriterFailure, ASinkThatDoesNotBeginMakesNoWriter) {
  sink->throw_at_begin = true;
  EXPECT_THROW(static_cast<void>(writer()), std::runtime_error);
  EXPECT_FALSE(sink->kept);
  EXPECT_EQ(sink.use_count(), 1);
}

TEST_P(FrameWriterFailure, AThrowingSinkFailsEverythingBehindIt) {
  for (const std::size_t at : {0u, 1u, 7u, 29u}) {
    sink = new_sink();
    sink->throw_at = at;
    FrameWriter writer = this->writer();
    std::vector<Ticket> tickets;
    try {
      for (int chunk = 0; chunk < 10; ++chunk) tickets.push_back(submit(writer));
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the sink broke");
    }
    EXPECT_THROW(writer.close(), std::runtime_error);
    EXPECT_THROW(submit(writer), std::runtime_error);
    EXPECT_THROW(static_cast<void>(writer.acquire()), std::runtime_error);
    EXPECT_FALSE(sink->finished);
    EXPECT_EQ(writer.error().value().what,
              "the sink broke (write, frame " + std::to_string(at) + ")");
    for (std::size_t ticket = 0; ticket < tickets.size(); ++ticket) {
      const auto durable = tickets[ticket].wait_durable();
      EXPECT_EQ(durable.has_value(), ticket < at / 3) << ticket;
      static_cast<void>(tickets[ticket].wait_staged());  // returns: no source is in use
      EXPECT_EQ(tickets[ticket].state(),
                ticket < at / 3 ? Ticket::State::durable : Ticket::State::failed);
    }
    EXPECT_EQ(sink->written, at);
  }
}

TEST_P(FrameWriterFailure, AThrowingEncoderFailsTheWriter) {
  if (!codes()) GTEST_SKIP() << "this sink codes nothing";
  sink->throw_at_encode = 4;
  auto with = settings();
  with.threads = 1;  // so that the fifth call has frame 4, in the third slot
  FrameWriter writer = this->writer(with);
  EXPECT_THROW(submit_until_refused(writer), std::runtime_error);
  EXPECT_THROW(writer.close(), std::runtime_error);
  EXPECT_EQ(writer.error().value().what, "the encoder broke (encode, frame 4)");
  EXPECT_FALSE(sink->finished);
}

TEST_P(FrameWriterFailure, AnErrorAtTheEndIsReportedByClose) {
  sink->throw_at_finish = true;
  FrameWriter writer = this->writer();
  EXPECT_TRUE(submit(writer).wait_durable());
  EXPECT_THROW(writer.close(), std::runtime_error);
  EXPECT_THROW(writer.close(), std::runtime_error) << "it stays";
  EXPECT_EQ(writer.error().value().what, "the sink broke at the end (finish, frame 3)");
}

TEST_P(FrameWriterFailure, AThrowingProgressCallbackFailsTheWriter) {
  auto with = settings();
  with.on_progress = [](const Counters& now) {
    if (now.parts_out >= 6) throw std::logic_error("enough");
  };
  FrameWriter writer = this->writer(with);
  EXPECT_THROW(submit_until_refused(writer), std::logic_error);
  EXPECT_EQ(writer.error().value().what, "enough (progress report, frame 5)");
}

TEST_P(FrameWriterFailure, KeepsWhatWasWrittenOnlyWhereThatIsWanted) {
  const auto fail = [&](FrameWriter& writer) {
    sink->throw_at = 4;
    EXPECT_THROW(submit_until_refused(writer), std::runtime_error);
  };
  const auto fail_at_once = [&](FrameWriter& writer) {
    sink->throw_at = 0;
    EXPECT_THROW(submit_until_refused(writer), std::runtime_error);
  };
  const auto fail_at_the_end = [&](FrameWriter& writer) {
    sink->throw_at_finish = true;
    submit(writer);
    EXPECT_THROW(writer.close(), std::runtime_error);
  };
  const auto leave = [&](FrameWriter& writer) { EXPECT_TRUE(submit(writer).wait_durable()); };
  const auto finish = [&](FrameWriter& writer) {
    submit(writer);
    writer.close();
  };
  EXPECT_TRUE(keeps_partial(true, fail));
  EXPECT_FALSE(keeps_partial(false, fail));
  EXPECT_FALSE(keeps_partial(true, fail_at_once)) << "there is nothing";
  EXPECT_TRUE(keeps_partial(true, fail_at_the_end));
  EXPECT_TRUE(keeps_partial(true, leave));
  EXPECT_FALSE(keeps_partial(false, leave));
  EXPECT_FALSE(keeps_partial(true, finish));
  EXPECT_FALSE(keeps_partial(true, [](FrameWriter&) {}));
}

// Before the frames are computed, while a producer waits, in the encoder, in the sink, at the end.
TEST_P(FrameWriterFailure, CancelBeforeTheFramesAreThereStillWaitsWithTheSource) {
  Latch gate(stream, device());
  auto owner = std::make_shared<const Bytes>(sample.bytes);
  const std::weak_ptr<const Bytes> watch = owner;
  FrameWriter writer = this->writer();
  const Ticket ticket = writer.submit(stream, sample.at(owner->data()), owner);
  owner.reset();
  EXPECT_TRUE(eventually([&] {  // that a conversion was enqueued
    const Counters now = writer.counters();
    return now.device_slots_peak + now.host_slots_peak > 0;
  }));
  std::this_thread::sleep_for(10ms);
  writer.cancel();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(watch.expired()) << "the conversion may still read it";
  EXPECT_EQ(ticket.state(), Ticket::State::failed);
  gate.open();
  EXPECT_EQ(ticket.wait_staged().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(watch.expired());
  EXPECT_THROW(writer.close(), DataError);
}

TEST_P(FrameWriterFailure, CancelWakesAProducerThatWaits) {
  sink->gate.shut();
  FrameWriter writer = this->writer();
  std::optional<ErrorCode> seen;
  std::jthread producer([&] {
    try {
      submit_until_refused(writer);
    } catch (const DataError& error) {
      seen = error.error().code;
    }
  });
  EXPECT_TRUE(eventually([&] { return writer.counters().stalls > 0; }));
  std::this_thread::sleep_for(20ms);
  writer.cancel();
  producer.join();
  EXPECT_EQ(seen, ErrorCode::cancelled);
  sink->gate.open();
}

TEST_P(FrameWriterFailure, CancelInTheEncoderEndsBehindTheFrame) {
  if (!codes()) GTEST_SKIP() << "this sink codes nothing";
  sink->encode_gate.shut();
  FrameWriter writer = this->writer();
  const Ticket ticket = submit(writer);
  ASSERT_TRUE(sink->encode_gate.wait_for_someone());
  writer.cancel();
  sink->encode_gate.open();
  EXPECT_EQ(ticket.wait_durable().error().code, ErrorCode::cancelled);
  writer = this->writer();  // ends the first
  EXPECT_LE(sink->encoded, 2u) << "one frame of each slot, of two";
  EXPECT_EQ(sink->written, 0u);
}

TEST_P(FrameWriterFailure, CancelInTheSinkEndsBehindTheFrame) {
  sink->gate.shut();
  FrameWriter writer = this->writer();
  const Ticket ticket = submit(writer);
  ASSERT_TRUE(sink->gate.wait_for_someone());
  writer.cancel();
  sink->gate.open();
  EXPECT_EQ(ticket.wait_durable().error().code, ErrorCode::cancelled);
  const auto first = sink;
  sink = new_sink();
  writer = this->writer();  // ends the first
  EXPECT_EQ(first->written, 1u) << "the slot has two frames";
  EXPECT_TRUE(first->kept);
}

TEST_P(FrameWriterFailure, CancelAtTheEndLetsTheSinkFinish) {
  sink->finish_gate.shut();
  FrameWriter writer = this->writer();
  submit(writer);
  std::jthread closer([&] { writer.close(); });
  ASSERT_TRUE(sink->finish_gate.wait_for_someone());
  writer.cancel();
  sink->finish_gate.open();
  closer.join();
  writer.cancel();
  writer.close();
  EXPECT_TRUE(sink->finished);
  EXPECT_FALSE(writer.error());
}

TEST_P(FrameWriterFailure, StopMeetsItsDeadline) {
  FrameWriter writer = this->writer();
  for (int at = 0; at < 20; ++at) submit(writer);
  EXPECT_TRUE(writer.stop(Ticket::Clock::now() + 20s));
  EXPECT_EQ(sink->frames.size(), 60u);
  EXPECT_TRUE(sink->finished);
}

TEST_P(FrameWriterFailure, StopMissesItsDeadlineAndCancels) {
  sink->gate.shut();
  FrameWriter writer = this->writer();
  submit(writer);
  const Ticket second = submit(writer);
  ASSERT_TRUE(sink->gate.wait_for_someone());
  const auto start = Ticket::Clock::now();
  EXPECT_FALSE(writer.stop(start + 30ms));
  EXPECT_GE(Ticket::Clock::now() - start, 30ms);
  EXPECT_LT(Ticket::Clock::now() - start, 5s);
  EXPECT_EQ(second.wait_durable().error().code, ErrorCode::cancelled);
  sink->gate.open();
}

TEST_P(FrameWriterFailure, TheDestructorEndsWithWorkInFlight) {
  for (int round = 0; round < 20; ++round) {
    sink = new_sink();
    std::vector<Ticket> tickets;
    {
      FrameWriter writer = this->writer();
      for (int at = 0; at < 10; ++at) tickets.push_back(submit(writer));
    }
    std::size_t durable = 0;
    for (const Ticket& ticket : tickets) {
      static_cast<void>(ticket.wait_staged());
      durable += ticket.wait_durable().has_value() ? 1 : 0;
    }
    EXPECT_GE(sink->frames.size(), 3 * durable);
    EXPECT_LT(sink->frames.size(), 3 * durable + 3);
    EXPECT_FALSE(sink->finished) << "only close finishes";
  }
}

TEST_P(FrameWriterFailure, TheDestructorLeavesASinkThatHangs) {
  sink->gate.shut();
  auto with = settings();
  with.abandon_after = 50ms;
  const auto start = std::chrono::steady_clock::now();
  std::optional<Ticket> ticket;
  std::atomic<bool> gone{false};
  sink->when_gone = [&] { gone = true; };
  {
    FrameWriter writer = this->writer(with);
    ticket = submit(writer);
    ASSERT_TRUE(sink->gate.wait_for_someone());
  }
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 10s);
  EXPECT_EQ(ticket->wait_durable().error().code, ErrorCode::cancelled);
  // The threads left behind own the sink until it returns; then nothing is left.
  Gate& gate = sink->gate;
  sink.reset();
  EXPECT_FALSE(gone);
  gate.open();
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

TEST_P(FrameWriterFailure, ASlotMayOutliveItsWriter) {
  std::optional<FrameWriter::Slot> slot;
  {
    FrameWriter writer = this->writer();
    slot = writer.acquire();
    writer.cancel();
    EXPECT_THROW(static_cast<void>(writer.acquire()), DataError);
    EXPECT_THROW(FrameWriter(settings(), small_format(), new_sink()).submit(std::move(*slot), 1),
                 LogicError)
        << "of another writer";
  }
  FrameWriter writer(settings(), small_format(), new_sink());
  slot = writer.acquire();
  writer = FrameWriter(settings(), small_format(), new_sink());
  std::ranges::fill(slot->bytes(), std::byte{1});  // still there: a sanitizer would tell
}

TEST_P(FrameWriterFailure, AMovedFromWriterSaysSo) {
  FrameWriter writer = this->writer();
  const FrameWriter other = std::move(writer);
  EXPECT_THROW(submit(writer), LogicError);  // NOLINT: that it was moved from is the point
  EXPECT_THROW(writer.close(), LogicError);
  EXPECT_THROW(static_cast<void>(writer.format()), LogicError);
}

// Each record of an event fails once: of the submit, behind each conversion, behind the copy.
TEST_P(FrameWriterFailure, NothingOutlivesItsMemoryWhereEventsFail) {
  if (GetParam().device_slots == 0) GTEST_SKIP() << "the host device does not fail";
  for (int records = 0; records < 1 + 3 + 3; ++records) {
    sink = new_sink();
    LeakyDevice device(LeftOut::nothing);
    device.records_left = records;
    device.latency = 2ms;
    auto with = settings();
    with.device = &device;
    with.abandon_after = 60s;
    Sample large = frames_of(6, 1);
    std::atomic<bool> produced{false};
    bool let_go_early = false;
    {
      const Stream own = device.make_stream();
      device.call_async(
          own,
          [](void* arg) noexcept {
            std::this_thread::sleep_for(3ms);
            *static_cast<std::atomic<bool>*>(arg) = true;
          },
          &produced);
      std::shared_ptr<const void> owner(large.bytes.data(), [&](const void*) {
        let_go_early = records > 0 && !produced;
        std::ranges::fill(large.bytes, std::byte{});
      });
      FrameWriter writer = this->writer(with);
      std::optional<Ticket> ticket;
      try {
        ticket = writer.submit(own, large.view, std::exchange(owner, nullptr));
      } catch (const MachineError&) {
        EXPECT_EQ(records, 0);
      }
      if (ticket) {
        static_cast<void>(ticket->wait_staged());
        EXPECT_FALSE(ticket->wait_durable()) << records;
        EXPECT_TRUE(produced);
      }
      EXPECT_THROW(writer.close(), MachineError) << records;
      EXPECT_EQ(writer.error().value().code, ErrorCode::device);
      own.ref().sync();
    }
    EXPECT_FALSE(device.freed_while_copying) << records;
    EXPECT_FALSE(let_go_early) << records;
  }
}

}  // namespace
}  // namespace offramp::testing_frame_writer
