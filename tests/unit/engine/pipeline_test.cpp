// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/engine_kit.hpp"

#include <offramp/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

namespace offramp::testing_engine {
namespace {

struct Case {
  std::string codec;
  std::size_t device_slots;
};

class PipelineTest : public testing::TestWithParam<Case> {
 protected:
  std::shared_ptr<KeepingSink> sink = std::make_shared<KeepingSink>();
  Stream stream = host_device().make_stream();

  PipelineSettings settings() const { return small_settings(GetParam().device_slots); }
  Pipeline pipeline() { return pipeline(settings()); }
  Pipeline pipeline(PipelineSettings with) {
    return Pipeline(std::move(with), codec(GetParam().codec), sink);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& name : codec_names()) {
    for (const std::size_t slots : {0u, 2u}) all.push_back({name, slots});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Codecs, PipelineTest, testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.codec + "_" + std::to_string(test.param.device_slots);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(PipelineTest, BringsEveryChunkInOrderBitForBit) {
  std::vector<Bytes> sources;
  std::vector<Ticket> tickets;
  for (unsigned at = 0; at < 100; ++at) {
    sources.push_back(at % 2 ? random_bytes(2 + 2 * (at * 37 % 2000), at)
                             : smooth_bytes(2 + 2 * (at * 37 % 2000), at));
  }
  Pipeline pipeline = this->pipeline();
  for (unsigned at = 0; at < 100; ++at) {
    tickets.push_back(submit_one(pipeline, stream, "t" + std::to_string(at), sources[at]));
  }
  pipeline.close();
  ASSERT_EQ(sink->records.size(), 100u);
  EXPECT_TRUE(sink->finished);
  for (unsigned at = 0; at < 100; ++at) {
    EXPECT_EQ(tickets[at].state(), Ticket::State::durable);
    EXPECT_EQ(sink->records[at].name, "t" + std::to_string(at));
    EXPECT_EQ(sink->records[at].chunk, at);
    EXPECT_EQ(sink->records[at].decode(), sources[at]) << at;
    EXPECT_EQ(sink->records[at].digest, sink->digest(sink->records[at].payload)) << at;
  }
  EXPECT_FALSE(sink->overlapped);
  const Counters counters = pipeline.counters();
  EXPECT_EQ(counters.chunks_in, 100u);
  EXPECT_EQ(counters.chunks_out, 100u);
  EXPECT_EQ(counters.bytes_in, counters.bytes_done);
  EXPECT_EQ(counters.parts_out, 100u);
  EXPECT_LE(counters.parts_stored, 100u);
}

// While the sink holds one chunk, the others are coded until the slots are full, and no second
// thread goes into the sink.
TEST_P(PipelineTest, CodesOnWhileOneThreadIsInTheSink) {
  Pipeline pipeline = this->pipeline();
  const std::size_t coded_slots = settings().coded_slots;
  const Bytes source = smooth_bytes(2000, 1);
  sink->gate.shut();
  for (std::size_t at = 0; at < coded_slots; ++at) {
    submit_one(pipeline, stream, "t" + std::to_string(at), source);
  }
  EXPECT_TRUE(eventually([&] { return sink->coded == coded_slots; }));
  EXPECT_TRUE(sink->records.empty());
  sink->gate.open();
  pipeline.close();
  EXPECT_EQ(sink->records.size(), coded_slots);
  EXPECT_FALSE(sink->overlapped);
}

TEST_P(PipelineTest, CutsALargeTensorAndPacksSmallOnesTogether) {
  const Bytes large = smooth_bytes(64 * 400 * 2, 1);  // 51200 bytes by slots of 4096
  const Bytes small = random_bytes(10, 2);
  const TensorDesc large_desc{.dtype = DType::bf16, .shape = {400, 64}};
  const std::vector<ChunkTensor> tensors{
      {.what = whole("small", bf16(5)), .data = small.data()},
      {.what = whole("empty", bf16(0)), .data = nullptr},
      {.what = whole("large", large_desc), .data = large.data()}};
  Pipeline pipeline = this->pipeline();
  const Ticket ticket = pipeline.submit(stream, {.tensors = tensors});
  pipeline.close();
  EXPECT_EQ(ticket.state(), Ticket::State::durable);
  EXPECT_EQ(pipeline.counters().chunks_out, 1u);
  ASSERT_GT(sink->records.size(), 13u);
  EXPECT_EQ(sink->records[0].decode(), small);
  EXPECT_EQ(sink->records[1].name, "empty");
  EXPECT_TRUE(sink->records[1].decode().empty());
  Bytes restored;
  for (std::size_t at = 2; at < sink->records.size(); ++at) {
    const auto& record = sink->records[at];
    EXPECT_EQ(record.name, "large");
    EXPECT_EQ(record.tensor, large_desc);
    EXPECT_EQ(record.part.first_elem * 2, restored.size());
    const Bytes part = record.decode();
    restored.insert(restored.end(), part.begin(), part.end());
  }
  EXPECT_EQ(restored, large);
}

TEST_P(PipelineTest, AStallingSinkHoldsTheProducerAtItsSlots) {
  sink->gate.shut();
  const auto with = settings();
  Pipeline pipeline = this->pipeline(with);
  const Bytes source = smooth_bytes(4096, 3);
  std::jthread producer([&] {
    for (int at = 0; at < 40; ++at) submit_one(pipeline, stream, "t", source);
  });
  // `store` keeps its host slots to the end; a coder gives them back when it has its own output.
  const bool stores = GetParam().codec == "store";
  const std::size_t room = with.device_slots + with.host_slots + (stores ? 0 : with.coded_slots);
  EXPECT_TRUE(eventually([&] { return pipeline.counters().chunks_in == room; }));
  std::this_thread::sleep_for(50ms);
  const Counters held = pipeline.counters();
  EXPECT_EQ(held.chunks_in, room) << "the producer went on without a slot";
  EXPECT_EQ(held.chunks_out, 0u);
  EXPECT_GE(held.stalls, 1u);
  EXPECT_EQ(held.host_slots_peak, with.host_slots);
  EXPECT_EQ(held.device_slots_peak, with.device_slots);
  sink->gate.open();
  producer.join();
  pipeline.close();
  const Counters done = pipeline.counters();
  EXPECT_EQ(done.chunks_out, 40u);
  EXPECT_EQ(done.host_slots_peak, with.host_slots);
  EXPECT_LE(done.coded_slots_peak, with.coded_slots);
  EXPECT_GE(done.stall_ns, 40'000'000u) << "the stall of 50 ms is counted";
}

TEST_P(PipelineTest, DropsOnlyWhenToldAndCountsIt) {
  sink->gate.shut();
  auto with = settings();
  with.overflow = Overflow::drop;
  Pipeline pipeline = this->pipeline(with);
  const Bytes source = random_bytes(4096, 4);
  std::uint64_t dropped = 0;
  Ticket kept = submit_one(pipeline, stream, "kept", source);
  for (int at = 0; at < 200 || dropped == 0; ++at) {
    const Ticket ticket = submit_one(pipeline, stream, "t", source);
    if (ticket.state() == Ticket::State::dropped) {
      ++dropped;
      EXPECT_TRUE(ticket.wait_staged());
      EXPECT_TRUE(ticket.wait_durable());
      EXPECT_FALSE(ticket.wait_durable_until(Ticket::Clock::now()));
    }
  }
  sink->gate.open();
  pipeline.close();
  const Counters counters = pipeline.counters();
  EXPECT_EQ(counters.chunks_dropped, dropped);
  EXPECT_EQ(counters.stalls, 0u);
  EXPECT_EQ(counters.chunks_in, counters.chunks_out + counters.chunks_dropped);
  EXPECT_EQ(sink->records.size(), counters.chunks_out);
  EXPECT_EQ(kept.state(), Ticket::State::durable);
}

TEST_P(PipelineTest, ATicketIsStagedBeforeItIsDurable) {
  sink->gate.shut();
  Pipeline pipeline = this->pipeline();
  Bytes source = random_bytes(1000, 5);
  const Bytes original = source;
  const Ticket ticket = submit_one(pipeline, stream, "t", source);
  ASSERT_TRUE(ticket.wait_staged());
  std::ranges::fill(source, std::byte{0xee});  // the source may be reused
  EXPECT_EQ(ticket.state(), Ticket::State::staged);
  EXPECT_FALSE(ticket.wait_durable_until(Ticket::Clock::now() + 5ms));
  sink->gate.open();
  EXPECT_TRUE(ticket.wait_durable());
  EXPECT_EQ(ticket.state(), Ticket::State::durable);
  pipeline.close();
  EXPECT_EQ(sink->records[0].decode(), original);
}

TEST_P(PipelineTest, KeepsTheSourceAliveUntilItIsCopiedAndNoLonger) {
  Pipeline pipeline = this->pipeline();
  std::atomic<bool> hold{true};
  host_device().call_async(
      stream,
      [](void* arg) noexcept {
        auto& held = *static_cast<std::atomic<bool>*>(arg);
        held.wait(true);
      },
      &hold);
  auto source = std::make_shared<const Bytes>(random_bytes(2000, 6));
  const Bytes original = *source;
  const std::weak_ptr<const Bytes> watch = source;
  const Ticket ticket = submit_one(pipeline, stream, "t", *source, source);
  source.reset();  // "freed" while the copy waits for the stream
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(ticket.state(), Ticket::State::submitted);
  hold = false;
  hold.notify_all();
  ASSERT_TRUE(ticket.wait_staged());
  EXPECT_TRUE(watch.expired());
  pipeline.close();
  EXPECT_EQ(sink->records[0].decode(), original);
}

TEST_P(PipelineTest, TakesChunksFromTwoThreads) {
  std::vector<Bytes> sources;
  for (unsigned at = 0; at < 200; ++at) sources.push_back(smooth_bytes(20 + at * 40, at));
  Pipeline pipeline = this->pipeline();
  const auto produce = [&](unsigned first) {
    const Stream own = host_device().make_stream();
    for (unsigned at = first; at < 200; at += 2) {
      submit_one(pipeline, own, std::to_string(at), sources[at]);
    }
    own.ref().sync();
  };
  {
    std::jthread even(produce, 0);
    std::jthread odd(produce, 1);
  }
  pipeline.close();
  std::map<std::string, Bytes> got;
  for (const auto& record : sink->records) {
    Bytes& bytes = got[record.name];
    EXPECT_EQ(record.part.first_elem * 2, bytes.size()) << "the parts of a tensor are out of order";
    const Bytes part = record.decode();
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  ASSERT_EQ(got.size(), 200u);
  for (unsigned at = 0; at < 200; ++at) EXPECT_EQ(got[std::to_string(at)], sources[at]) << at;
  EXPECT_EQ(pipeline.counters().chunks_out, 200u);
}

TEST_P(PipelineTest, FillsHostSlotsInPlace) {
  auto with = settings();
  if (with.device_slots > 0) {
    Pipeline pipeline = this->pipeline(with);
    EXPECT_THROW(static_cast<void>(pipeline.acquire()), LogicError);
    return;
  }
  Pipeline pipeline = this->pipeline(with);
  const Bytes source = smooth_bytes(4000, 7);
  for (int at = 0; at < 20; ++at) {
    auto slot = pipeline.acquire();
    ASSERT_EQ(slot.bytes().size(), with.chunk_size);
    std::ranges::copy(std::span(source).first(1000), slot.bytes().begin());
    std::ranges::copy(std::span(source).subspan(1000), slot.bytes().begin() + 1024);
    const std::vector<TensorPart> parts{whole("a", bf16(500)), whole("b", bf16(1500))};
    const Ticket ticket = pipeline.submit(std::move(slot), parts);
    EXPECT_TRUE(ticket.wait_staged());
    submit_one(pipeline, stream, "pushed", source);  // both faces may be mixed
    auto unused = pipeline.acquire();                // and a slot given back
  }
  pipeline.close();
  ASSERT_EQ(sink->records.size(), 60u);
  for (std::size_t at = 0; at < 60; at += 3) {
    EXPECT_EQ(sink->records[at].decode(), Bytes(source.begin(), source.begin() + 1000));
    EXPECT_EQ(sink->records[at + 1].decode(), Bytes(source.begin() + 1000, source.end()));
    EXPECT_EQ(sink->records[at + 2].decode(), source);
  }
}

TEST_P(PipelineTest, ReportsProgressAndTracesEveryStage) {
  auto with = settings();
  std::vector<Counters> seen;
  with.on_progress = [&](const Counters& now) { seen.push_back(now); };
  with.trace = std::make_shared<Trace>();
  Pipeline pipeline = this->pipeline(with);
  const Bytes source = smooth_bytes(3000, 8);
  for (int at = 0; at < 10; ++at) submit_one(pipeline, stream, "t", source);
  pipeline.close();
  ASSERT_EQ(seen.size(), 10u);
  for (std::size_t at = 0; at < 10; ++at) EXPECT_EQ(seen[at].chunks_out, at + 1);
  EXPECT_EQ(seen.back().bytes_done, 30'000u);
  const std::string json = with.trace->to_json();
  for (const auto* stage : {"\"copy\"", "\"encode\"", "\"write\"", "\"finish\""}) {
    EXPECT_NE(json.find(stage), std::string::npos) << stage;
  }
}

TEST_P(PipelineTest, RefusesWhatContradictsItself) {
  Pipeline pipeline = this->pipeline();
  const Bytes source = random_bytes(100, 9);
  EXPECT_THROW(pipeline.submit(stream, {}), LogicError);
  ChunkTensor tensor{.what = whole("t", bf16(50)), .data = source.data()};
  tensor.what.part.first_elem = 1;  // behind the end
  EXPECT_THROW(pipeline.submit(stream, {.tensors = {&tensor, 1}}), LogicError);
  tensor.what = whole("t", bf16(50));
  tensor.what.part.desc.dtype = DType::fp16;
  EXPECT_THROW(pipeline.submit(stream, {.tensors = {&tensor, 1}}), LogicError);
  pipeline.close();  // none of them harmed it
  EXPECT_THROW(submit_one(pipeline, stream, "late", source), LogicError);
  pipeline.close();  // twice does nothing more
  EXPECT_EQ(pipeline.counters().chunks_in, 0u);

  for (auto spoil : {+[](PipelineSettings& s) { s.host_slots = 0; },
                     +[](PipelineSettings& s) { s.coded_slots = 0; },
                     +[](PipelineSettings& s) { s.chunk_size = 8; }}) {
    auto with = settings();
    spoil(with);
    EXPECT_THROW(this->pipeline(with), LogicError);
  }
  EXPECT_THROW(Pipeline(settings(), codec("store"), nullptr), LogicError);
}

}  // namespace
}  // namespace offramp::testing_engine
