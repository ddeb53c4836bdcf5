// SPDX-License-Identifier: Apache-2.0
// What fails, when it fails, and that everything ends.
#include "unit/engine/engine_kit.hpp"
#include "unit/engine/leaky_device.hpp"

#include <offramp/core/error.hpp>

#include <atomic>
#include <optional>

namespace offramp::testing_engine {
namespace {

class FailureTest : public testing::TestWithParam<std::size_t> {
 protected:
  std::shared_ptr<KeepingSink> sink = std::make_shared<KeepingSink>();
  Stream stream = host_device().make_stream();
  Bytes source = smooth_bytes(3000, 1);

  PipelineSettings settings() const { return small_settings(GetParam()); }
  Pipeline pipeline() { return pipeline(settings()); }
  Pipeline pipeline(PipelineSettings with) {
    return Pipeline(std::move(with), codec(codec_names().back()), sink);
  }
  /// Submits until it throws, which it must do soon.
  void submit_until_refused(Pipeline& pipeline) {
    for (int at = 0; at < 10'000; ++at) submit_one(pipeline, stream, "t", source);
  }
};

INSTANTIATE_TEST_SUITE_P(DeviceSlots, FailureTest, testing::Values(0, 2));

TEST_P(FailureTest, AThrowingSinkFailsEverythingBehindIt) {
  for (const std::size_t at : {0u, 1u, 5u, 19u}) {
    sink = std::make_shared<KeepingSink>();
    sink->throw_at = at;
    Pipeline pipeline = this->pipeline();
    std::vector<Ticket> tickets;
    try {
      for (int chunk = 0; chunk < 20; ++chunk) {
        tickets.push_back(submit_one(pipeline, stream, "t", source));
      }
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the sink broke");
    }
    EXPECT_THROW(pipeline.close(), std::runtime_error);
    EXPECT_THROW(submit_one(pipeline, stream, "t", source), std::runtime_error);
    EXPECT_FALSE(sink->finished);
    ASSERT_GT(tickets.size(), at);
    for (std::size_t ticket = 0; ticket < tickets.size(); ++ticket) {
      const auto durable = tickets[ticket].wait_durable();
      EXPECT_EQ(durable.has_value(), ticket < at);
      if (!durable) {
        EXPECT_EQ(durable.error().what,
                  "the sink broke (write, chunk " + std::to_string(at + 1) + ")");
        EXPECT_EQ(tickets[ticket].state(), Ticket::State::failed);
        static_cast<void>(tickets[ticket].wait_staged());  // returns: no copy is left behind
      }
    }
    EXPECT_EQ(pipeline.counters().chunks_out, at);
  }
}

TEST_P(FailureTest, TheFirstErrorStays) {
  sink->throw_at = 0;
  Pipeline pipeline = this->pipeline();
  EXPECT_THROW(submit_until_refused(pipeline), std::runtime_error);
  pipeline.cancel();
  for (const auto& end : {std::function([&] { pipeline.close(); }), std::function([&] {
                            static_cast<void>(pipeline.stop(Ticket::Clock::now() + 1s));
                          })}) {
    try {
      end();
      ADD_FAILURE() << "the error is gone";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the sink broke");
    }
  }
}

TEST_P(FailureTest, AnErrorAtTheEndIsReportedByClose) {
  sink->throw_at_finish = true;
  Pipeline pipeline = this->pipeline();
  const Ticket ticket = submit_one(pipeline, stream, "t", source);
  EXPECT_TRUE(ticket.wait_durable());
  EXPECT_THROW(pipeline.close(), std::runtime_error);
}

TEST_P(FailureTest, AThrowingProgressCallbackFailsThePipeline) {
  auto with = settings();
  with.on_progress = [](const Counters& now) {
    if (now.chunks_out == 3) throw std::logic_error("enough");
  };
  Pipeline pipeline = this->pipeline(with);
  EXPECT_THROW(submit_until_refused(pipeline), std::logic_error);
}

TEST_P(FailureTest, CancelWakesAProducerThatWaitsForASlot) {
  sink->gate.shut();
  Pipeline pipeline = this->pipeline();
  std::optional<ErrorCode> seen;
  std::jthread producer([&] {
    try {
      submit_until_refused(pipeline);
    } catch (const DataError& error) {
      seen = error.error().code;
    }
  });
  // Until nothing moves any more, so that only the cancel can wake the producer.
  const auto with = settings();
  const std::size_t held =
      with.host_slots + (codec_names().back() == "store" ? 0 : with.coded_slots);
  EXPECT_TRUE(
      eventually([&] { return pipeline.counters().chunks_in == with.device_slots + held; }));
  std::this_thread::sleep_for(30ms);
  pipeline.cancel();
  producer.join();
  EXPECT_EQ(seen, ErrorCode::cancelled);
  sink->gate.open();
}

TEST_P(FailureTest, CancelWhileTheSinkHasAChunkLetsItKeepThatOne) {
  sink->gate.shut();
  Pipeline pipeline = this->pipeline();
  const Ticket first = submit_one(pipeline, stream, "t", source);
  const Ticket second = submit_one(pipeline, stream, "t", source);
  ASSERT_TRUE(sink->gate.wait_for_someone());
  pipeline.cancel();
  sink->gate.open();
  EXPECT_THROW(pipeline.close(), DataError);
  EXPECT_TRUE(eventually([&] { return first.state() == Ticket::State::durable; }));
  EXPECT_EQ(second.wait_durable().error().code, ErrorCode::cancelled);
  EXPECT_EQ(second.state(), Ticket::State::failed);
}

TEST_P(FailureTest, CancelBeforeTheCopyStillWaitsWithTheSource) {
  std::atomic<bool> hold{true};
  host_device().call_async(
      stream, [](void* arg) noexcept { static_cast<std::atomic<bool>*>(arg)->wait(true); }, &hold);
  auto owner = std::make_shared<const Bytes>(source);
  const std::weak_ptr<const Bytes> watch = owner;
  Pipeline pipeline = this->pipeline();
  const Ticket ticket = submit_one(pipeline, stream, "t", *owner, owner);
  owner.reset();
  pipeline.cancel();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(watch.expired()) << "the copy may still read it";
  hold = false;
  hold.notify_all();
  EXPECT_EQ(ticket.wait_staged().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(watch.expired());
}

TEST_P(FailureTest, CancelAfterTheEndChangesNothing) {
  Pipeline pipeline = this->pipeline();
  submit_one(pipeline, stream, "t", source);
  pipeline.close();
  pipeline.cancel();
  pipeline.close();
  EXPECT_TRUE(sink->finished);
}

TEST_P(FailureTest, StopMeetsItsDeadline) {
  Pipeline pipeline = this->pipeline();
  for (int at = 0; at < 20; ++at) submit_one(pipeline, stream, "t", source);
  EXPECT_TRUE(pipeline.stop(Ticket::Clock::now() + 20s));
  EXPECT_EQ(sink->records.size(), 20u);
  EXPECT_TRUE(sink->finished);
}

TEST_P(FailureTest, StopMissesItsDeadlineAndCancels) {
  sink->gate.shut();
  Pipeline pipeline = this->pipeline();
  const Ticket first = submit_one(pipeline, stream, "t", source);
  const Ticket second = submit_one(pipeline, stream, "t", source);
  ASSERT_TRUE(sink->gate.wait_for_someone());
  const auto start = Ticket::Clock::now();
  EXPECT_FALSE(pipeline.stop(start + 30ms));
  EXPECT_GE(Ticket::Clock::now() - start, 30ms);
  EXPECT_LT(Ticket::Clock::now() - start, 5s);
  EXPECT_EQ(second.wait_durable().error().code, ErrorCode::cancelled);
  sink->gate.open();
}

TEST_P(FailureTest, TheDestructorEndsWithWorkInFlight) {
  for (int round = 0; round < 20; ++round) {
    sink = std::make_shared<KeepingSink>();
    std::vector<Ticket> tickets;
    {
      Pipeline pipeline = this->pipeline();
      for (int at = 0; at < 10; ++at) tickets.push_back(submit_one(pipeline, stream, "t", source));
    }
    // Tickets outlive the pipeline and all have their answer.
    std::size_t durable = 0;
    for (const Ticket& ticket : tickets) durable += ticket.wait_durable().has_value() ? 1 : 0;
    EXPECT_EQ(sink->records.size(), durable);
    EXPECT_FALSE(sink->finished) << "only close finishes";
  }
}

TEST_P(FailureTest, TheDestructorLeavesASinkThatHangs) {
  sink->gate.shut();
  auto with = settings();
  with.abandon_after = 50ms;
  const auto start = std::chrono::steady_clock::now();
  std::optional<Ticket> ticket;
  {
    Pipeline pipeline = this->pipeline(with);
    ticket = submit_one(pipeline, stream, "t", source);
    ASSERT_TRUE(sink->gate.wait_for_someone());
  }
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 10s);
  EXPECT_EQ(ticket->wait_durable().error().code, ErrorCode::cancelled);
  // The threads left behind own the sink until it returns; then nothing is left.
  const std::weak_ptr<KeepingSink> watch = sink;
  Gate& gate = sink->gate;
  KeepingSink* const alive = sink.get();
  sink.reset();
  ASSERT_FALSE(watch.expired());
  static_cast<void>(alive);
  gate.open();
  EXPECT_TRUE(eventually([&] { return watch.expired(); }));
}

TEST_P(FailureTest, ASlotMayOutliveItsPipeline) {
  if (GetParam() > 0) GTEST_SKIP() << "slots are filled in place without device slots only";
  std::optional<Pipeline::Slot> slot;
  {
    Pipeline pipeline = this->pipeline();
    slot = pipeline.acquire();
    pipeline.cancel();
    EXPECT_THROW(static_cast<void>(pipeline.acquire()), DataError);
    auto other = this->pipeline();
    EXPECT_THROW(other.submit(std::move(*slot), {}), LogicError) << "of another pipeline";
  }
  Pipeline pipeline = this->pipeline();
  slot = pipeline.acquire();
  const std::vector<TensorPart> parts{whole("t", bf16(4000))};
  EXPECT_THROW(pipeline.submit(std::move(*slot), parts), LogicError) << "larger than the slot";
  slot = pipeline.acquire();
  pipeline = this->pipeline();
  std::ranges::fill(slot->bytes(), std::byte{1});  // still there: a sanitizer would tell
}

TEST_P(FailureTest, ADeviceThatRecordsNoMoreEventsHoldsUpNobody) {
  LeakyDevice device(LeftOut::nothing);
  auto with = settings();
  with.device = &device;
  with.abandon_after = 60s;
  const Stream own = device.make_stream();
  const auto begin = Ticket::Clock::now();
  {
    Pipeline pipeline = this->pipeline(with);
    static_cast<void>(submit_one(pipeline, own, "t", source).wait_staged());
    device.fails = true;
    EXPECT_THROW(submit_one(pipeline, own, "t", source), MachineError);
    EXPECT_THROW(pipeline.close(), MachineError);
  }
  EXPECT_LT(Ticket::Clock::now() - begin, 30s) << "the end waited for a submit that was over";
}

TEST_P(FailureTest, NoCopyOutlivesItsMemoryWhereEventsFail) {
  // Each record fails once: before the slot is filled, behind its copy, and between two slots.
  for (int records = 0; records < 4; ++records) {
    LeakyDevice device(LeftOut::nothing);
    device.records_left = records;
    device.latency = 5ms;
    device.watched = source.data();
    auto with = settings();
    with.device = &device;
    bool let_go_while_copying = false;
    const ChunkTensor tensor{.what = whole("t", bf16(source.size() / 2)), .data = source.data()};
    Chunk chunk{.tensors = {&tensor, 1}};
    chunk.keep_alive.reset(source.data(), [&](const std::byte*) {
      let_go_while_copying = device.copying_watched > 0;
    });
    {
      const Stream own = device.make_stream();
      Pipeline pipeline = this->pipeline(with);
      try {
        const Ticket ticket = pipeline.submit(own, std::exchange(chunk, {}));
        static_cast<void>(ticket.wait_durable());
      } catch (const MachineError&) {
      }
    }
    EXPECT_FALSE(device.freed_while_copying) << records;
    EXPECT_FALSE(let_go_while_copying) << records;
  }
}

}  // namespace
}  // namespace offramp::testing_engine
