// SPDX-License-Identifier: Apache-2.0
// What the offloader owes on every device: instantiated with a function that gives the device, or
// nullptr where this machine has none.
#pragma once

#include "contract/offload_fixture.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/engine/archive_sink.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/memory_source.hpp>

#include <atomic>
#include <random>
#include <thread>

namespace offramp::testing_offload {

TEST_P(OffloadContract, ASinkGetsWhatTheHostWouldMake) {
  const std::vector<OnDevice> tensors = many_kinds();
  for (const char* const name : codecs()) {
    SCOPED_TRACE(name);
    const auto expected = host_records(tensors, name, small().chunk_size);
    for (const bool at_once : {true, false}) {
      const auto sink = std::make_shared<KeepingSink>();
      Offloader offloader(small(), codec(name), sink);
      const std::vector<ChunkTensor> chunk = chunk_of(tensors);
      if (at_once) {
        offloader.submit(stream, {.tensors = chunk, .keep_alive = {}});
      } else {
        for (const ChunkTensor& tensor : chunk)
          offloader.submit(stream, {.tensors = {&tensor, 1}, .keep_alive = {}});
      }
      offloader.close();
      EXPECT_TRUE(sink->finished);
      expect_same_records(sink->records, expected);
      const Counters counters = offloader.counters();
      EXPECT_EQ(counters.bytes_in, counters.bytes_done);
      EXPECT_EQ(counters.parts_out, expected.size());
    }
  }
}

TEST_P(OffloadContract, WhatIsKeptComesBackBitForBit) {
  const std::vector<OnDevice> tensors = many_kinds();
  for (const char* const name : codecs()) {
    SCOPED_TRACE(name);
    Offloader offloader(small(), codec(name));
    const Kept kept =
        offloader.keep(stream, {.tensors = chunk_of(tensors), .keep_alive = {}}).value();
    std::size_t raw = 0;
    for (const OnDevice& tensor : tensors) raw += tensor.bytes.size();
    for (int round = 0; round < 3; ++round) {
      const Places places = places_for(tensors);
      const Restoring restoring = offloader.restore(stream, kept, places.outs);
      expect_restored(tensors, places);
      EXPECT_TRUE(restoring.wait());
      EXPECT_TRUE(restoring.is_done());
    }
    EXPECT_EQ(kept.ticket().state(), Ticket::State::durable);
    if (std::string_view(name) == "store") {
      EXPECT_EQ(kept.stored_size(), raw);
    } else {
      EXPECT_LT(kept.stored_size(), raw);
    }
  }
}

TEST_P(OffloadContract, ThousandsOfSmallTensorsGoTogether) {
  OffloaderSettings settings = small();
  settings.chunk_size = 1 << 20;
  settings.store_size = 64 << 20;
  std::vector<OnDevice> tensors;
  for (int at = 0; at < 40; ++at)
    tensors.push_back(make(DType::bf16, {16 + static_cast<std::uint64_t>(at), 64}, Kind::channels,
                           static_cast<std::uint64_t>(at)));
  std::vector<ChunkTensor> chunk;
  while (chunk.size() < OffloadCore::most_pieces + 100) {
    const auto& tensor = tensors[chunk.size() % tensors.size()];
    chunk.push_back(whole_of("t", tensor));
  }
  Offloader offloader(settings, codec("exact"));
  const Kept kept = offloader.keep(stream, {.tensors = chunk, .keep_alive = {}}).value();
  std::vector<Buffer> buffers;
  std::vector<std::byte*> outs;
  for (const ChunkTensor& tensor : chunk) {
    buffers.emplace_back(stream, device().memory(), tensor.what.tensor.size());
    outs.push_back(buffers.back().data());
  }
  offloader.restore(stream, kept, outs).wait().value();
  for (std::size_t at = 0; at < chunk.size(); at += 97) {
    const OnDevice& tensor = tensors[at % tensors.size()];
    ASSERT_TRUE(fetch(device(), stream, outs[at], tensor.bytes.size()) == tensor.bytes) << at;
  }
}

TEST_P(OffloadContract, RealTensorsShrinkInTheStore) {
  std::vector<OnDevice> tensors;
  std::size_t raw = 0;
  for (auto& real : testing_samples::real_tensors("kv_docs", 8)) {
    raw += real.bytes.size();
    tensors.push_back(put(device(), stream, real.desc, std::move(real.bytes)));
  }
  OffloaderSettings settings = small();
  settings.chunk_size = 1 << 20;
  Offloader offloader(settings, codec("exact"));
  const Kept kept =
      offloader.keep(stream, {.tensors = chunk_of(tensors), .keep_alive = {}}).value();
  const Places places = places_for(tensors);
  offloader.restore(stream, kept, places.outs).wait().value();
  expect_restored(tensors, places);
  EXPECT_GT(static_cast<double>(raw) / static_cast<double>(kept.stored_size()), 1.45);
}

TEST_P(OffloadContract, AnArchiveIsTheHostsByteForByte) {
  const auto real = testing_samples::real_tensors("kv_docs", 8);
  std::vector<NamedTensor> views;
  for (const auto& tensor : real) {
    views.push_back({.name = tensor.name, .view = {.desc = tensor.desc, .bytes = tensor.bytes}});
  }
  MemorySource source(std::move(views));
  std::vector<Bytes> archives;
  for (Device* const on : {static_cast<Device*>(nullptr), &device()}) {
    Bytes bytes;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
    JobSettings settings;
    settings.chunk_size = 256 << 10;
    settings.device = on;
    pack(source, writer, codec("exact"), settings).value();
    archives.push_back(std::move(bytes));
  }
  EXPECT_TRUE(archives[0] == archives[1]);
}

TEST_P(OffloadContract, ASourceMayBeGivenUpRightAfterSubmit) {
  for (const auto* name : {"exact", "store"}) {
    const auto sink = std::make_shared<KeepingSink>();
    const OnDevice tensor = make(DType::bf16, {1000, 64}, Kind::channels, 1);
    const Bytes poison(tensor.bytes.size(), std::byte{0xee});
    const Stream other = device().make_stream();
    std::atomic<int> freed{0};
    {
      Offloader offloader(small(), codec(name), sink);
      for (int round = 0; round < 30; ++round) {
        auto owner = std::shared_ptr<Buffer>(
            new Buffer(stream, device().memory(), tensor.bytes.size()), [&](Buffer* source) {
              // What the next owner of that memory would do with it.
              device().copy_async(other, {source->data(), poison.data(), poison.size()});
              other.ref().sync();
              delete source;
              ++freed;
            });
        device().copy_async(stream, {owner->data(), tensor.data.data(), tensor.bytes.size()});
        const ChunkTensor part{.what = whole("t", tensor.desc), .data = owner->data()};
        offloader.submit(stream, {.tensors = {&part, 1}, .keep_alive = std::move(owner)});
      }
      offloader.close();
    }
    EXPECT_EQ(freed, 30);
    Bytes whole_tensor;
    for (const auto& record : sink->records) {
      const Bytes part = record.decode();
      const auto at = record.part.first_elem * 2;
      ASSERT_TRUE(std::equal(part.begin(), part.end(),
                             tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

TEST_P(OffloadContract, ASourceIsLetGoOfOnceItIsStaged) {
  const OnDevice tensor = make(DType::bf16, {1000, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  for (const char* const name : codecs()) {
    Offloader offloader(small(), codec(name), std::make_shared<KeepingSink>());
    auto owner = std::make_shared<int>();
    const std::weak_ptr<int> watch = owner;
    const Ticket ticket =
        offloader.submit(stream, {.tensors = {&part, 1}, .keep_alive = std::move(owner)});
    EXPECT_TRUE(ticket.wait_staged()) << name;
    EXPECT_TRUE(watch.expired()) << name;
    offloader.close();
  }
}

TEST_P(OffloadContract, AChunkThatCodesToItsOwnSizeIsWhatTheHostMakesOfIt) {
  // Values of one exponent, of which more and more, from the last on, become noise.
  const TensorDesc desc{DType::bf16, {200, 64}};
  const StageRow& exact = *find_stage(StageId::exact);
  Workers workers{1};
  const Bytes noise = testing_samples::sample(desc, Kind::noise, 1);
  Bytes values = noise;
  for (std::size_t at = 0; at < values.size(); at += 2) {
    values[at] &= std::byte{0x7f};
    values[at + 1] = std::byte{0x3f};
  }
  Bytes coded(exact.max_encoded_size(desc)), scratch(exact.encode_scratch_size(desc, 1));
  std::size_t size = 0;
  for (std::size_t at = values.size(); at > 0 && size != values.size(); at -= 2) {
    values[at - 2] = noise[at - 2];
    values[at - 1] = noise[at - 1];
    size = exact.encode({.in = {desc, values},
                         .params = {},
                         .out = coded,
                         .scratch = scratch,
                         .workers = &workers});
  }
  ASSERT_EQ(size, values.size()) << "this tests nothing";
  const std::vector<OnDevice> tensors = just(put(device(), stream, desc, values));
  const auto sink = std::make_shared<KeepingSink>();
  Offloader offloader(small(), codec("exact"), sink);
  offloader.submit(stream, {.tensors = chunk_of(tensors), .keep_alive = {}});
  offloader.close();
  expect_same_records(sink->records, host_records(tensors, "exact", small().chunk_size));
}

TEST_P(OffloadContract, NothingIsReadBeforeTheProducerIsDone) {
  const auto sink = std::make_shared<KeepingSink>();
  const std::vector<OnDevice> tensors = just(make(DType::bf16, {700, 64}, Kind::channels, 1));
  const OnDevice late = make(DType::bf16, {700, 64}, Kind::noise, 2);
  Offloader offloader(small(), codec("exact"), sink);
  Ticket ticket;
  {
    testing_device::Latch latch(stream, device());
    device().copy_async(stream,
                        {late.data.data(), tensors[0].data.data(), tensors[0].bytes.size()});
    const ChunkTensor part = whole_of("t0", late);
    ticket = offloader.submit(stream, {.tensors = {&part, 1}, .keep_alive = {}});
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(ticket.state(), Ticket::State::submitted);
  }
  EXPECT_TRUE(ticket.wait_staged());
  EXPECT_TRUE(ticket.wait_durable());
  offloader.close();
  expect_same_records(sink->records, host_records(tensors, "exact", small().chunk_size));
}

TEST_P(OffloadContract, CodedBytesThatDoNotDecodeConcernNoOther) {
  const OnDevice tensor = make(DType::bf16, {700, 64}, Kind::channels, 1);
  const auto sink = std::make_shared<KeepingSink>();
  OffloaderSettings settings = small();
  settings.chunk_size = 1 << 20;
  Offloader offloader(settings, codec("exact"), sink);
  const ChunkTensor part = whole_of("t", tensor);
  offloader.submit(stream, {.tensors = {&part, 1}, .keep_alive = {}}).wait_durable().value();
  ASSERT_EQ(sink->records.size(), 1u);
  const Bytes good = sink->records[0].payload;
  Bytes bad = good;
  bad[40] ^= std::byte{0xff};
  const Bytes cut(good.begin(), good.begin() + 100);
  const Codec exact = codec("exact");
  const Codec raw = codec("store");
  const std::vector<OnDevice> like = just(make(DType::bf16, {700, 64}, Kind::channels, 1));
  const std::pair<const Codec*, const Bytes*> cases[]{{&exact, &bad}, {&exact, &cut}, {&raw, &cut}};
  for (const auto& [with, bytes] : cases) {
    const Places wrong = places_for(like);
    const Places right = places_for(like);
    const CodedChunk refused{
        .codec = with, .desc = tensor.desc, .payload = *bytes, .out = wrong.outs[0]};
    const CodedChunk taken{
        .codec = &exact, .desc = tensor.desc, .payload = good, .out = right.outs[0]};
    const Restoring first = offloader.restore(stream, {&refused, 1}, {});
    const Restoring second = offloader.restore(stream, {&taken, 1}, {});
    EXPECT_EQ(first.wait().error().code, ErrorCode::corrupt_payload);
    EXPECT_TRUE(second.wait());
    expect_restored(like, right);
    const Bytes around = fetch(device(), stream, wrong.buffer.data(), wrong.buffer.size());
    EXPECT_EQ(around[guard - 1], mark);
    EXPECT_EQ(around[guard + tensor.bytes.size()], mark);
  }
}

TEST_P(OffloadContract, AFullStoreRefusesAndTakesAgain) {
  OffloaderSettings settings = small();
  const OnDevice tensor = make(DType::bf16, {4096, 64}, Kind::channels, 1);  // 512 KiB
  settings.store_size = 3 * tensor.bytes.size();
  Offloader offloader(settings, codec("exact"));
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  std::vector<Kept> kept;
  Result<Kept> last = offloader.keep(stream, chunk);
  for (; last; last = offloader.keep(stream, chunk)) kept.push_back(*last);
  EXPECT_EQ(last.error().code, ErrorCode::limit_exceeded);
  EXPECT_GE(kept.size(), 3u) << "what has shrunk makes room";
  kept.erase(kept.begin(), kept.begin() + 2);  // two codes are larger than one tensor
  last = offloader.keep(stream, chunk);
  ASSERT_TRUE(last) << last.error().message();
  kept.push_back(*last);
  for (const Kept& one : kept) {
    const std::vector<OnDevice> like = just(make(DType::bf16, {4096, 64}, Kind::channels, 1));
    const Places places = places_for(like);
    offloader.restore(stream, one, places.outs).wait().value();
    expect_restored(like, places);
  }
}

TEST_P(OffloadContract, BothWaysAtOnceFromSeveralThreads) {
  OffloaderSettings settings = small();
  settings.store_size = 32 << 20;
  Offloader offloader(settings, codec("exact"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      const Stream own = device().make_stream();
      std::mt19937 random(thread);
      const TensorDesc desc{DType::bf16, {900 + 50 * thread, 64}};
      for (int round = 0; round < 15; ++round) {
        const OnDevice tensor =
            put(device(), own, desc,
                testing_samples::sample(desc, round % 4 ? Kind::channels : Kind::noise, random()));
        const ChunkTensor part = whole_of("t", tensor);
        const Kept kept = offloader.keep(own, {.tensors = {&part, 1}, .keep_alive = {}}).value();
        const Buffer out(own, device().memory(), tensor.bytes.size());
        std::byte* const outs[] = {out.data()};
        const Restoring restoring = offloader.restore(own, kept, outs);
        if (fetch(device(), own, out.data(), out.size()) != tensor.bytes) ++wrong;
        if (!restoring.wait()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(OffloadContract, WhatIsKeptOutlivesTheOffloader) {
  const std::vector<OnDevice> tensors = many_kinds();
  Kept kept;
  Restoring restoring;
  const Places places = places_for(tensors);
  {
    Offloader offloader(small(), codec("exact"));
    kept = offloader.keep(stream, {.tensors = chunk_of(tensors), .keep_alive = {}}).value();
    restoring = offloader.restore(stream, kept, places.outs);
  }
  EXPECT_TRUE(restoring.wait());
  expect_restored(tensors, places);
  EXPECT_EQ(kept.ticket().state(), Ticket::State::durable);
}

TEST_P(OffloadContract, ASinkThatThrowsFailsItAndTheNextOneWorks) {
  const OnDevice tensor = make(DType::bf16, {1000, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  for (const std::size_t at : {0u, 3u}) {
    const auto sink = std::make_shared<KeepingSink>();
    sink->throw_at = at;
    Offloader offloader(small(), codec("exact"), sink);
    std::vector<Ticket> tickets;
    EXPECT_THROW(
        {
          for (int round = 0; round < 10'000; ++round)
            tickets.push_back(offloader.submit(stream, chunk));
        },
        std::runtime_error);
    EXPECT_THROW(offloader.close(), std::runtime_error);
    for (const Ticket& ticket : tickets) {
      static_cast<void>(ticket.wait_staged());  // returns: no source is left in use
      if (const auto durable = ticket.wait_durable(); !durable) {
        EXPECT_NE(durable.error().what.find("the sink broke"), std::string::npos);
      }
    }
    EXPECT_EQ(tickets.back().state(), Ticket::State::failed);
  }
  const auto sink = std::make_shared<KeepingSink>();
  Offloader offloader(small(), codec("exact"), sink);
  offloader.submit(stream, chunk);
  offloader.close();
  EXPECT_EQ(sink->records.size(), 2u);
}

TEST_P(OffloadContract, CancelAndStopEndWhatIsUnderWay) {
  const OnDevice tensor = make(DType::bf16, {1000, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  for (const bool by_deadline : {false, true}) {
    const auto sink = std::make_shared<KeepingSink>();
    sink->gate.shut();
    Offloader offloader(small(), codec("exact"), sink);
    std::vector<Ticket> tickets;
    for (int round = 0; round < 4; ++round) tickets.push_back(offloader.submit(stream, chunk));
    ASSERT_TRUE(sink->gate.wait_for_someone());
    if (by_deadline) {
      EXPECT_FALSE(offloader.stop(Ticket::Clock::now() + 20ms));
    } else {
      offloader.cancel();
    }
    sink->gate.open();
    EXPECT_THROW(offloader.submit(stream, chunk), DataError);
    // The sink may keep the one that it had in hand.
    for (std::size_t at = 1; at < tickets.size(); ++at)
      EXPECT_FALSE(tickets[at].wait_durable()) << at;
    EXPECT_EQ(tickets.back().wait_durable().error().code, ErrorCode::cancelled);
  }
}

TEST_P(OffloadContract, TheDestructorNeitherHangsNorThrows) {
  const OnDevice tensor = make(DType::bf16, {1000, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  const auto sink = std::make_shared<KeepingSink>();
  sink->gate.shut();
  OffloaderSettings settings = small();
  settings.abandon_after = std::chrono::milliseconds(100);
  Ticket ticket;
  {
    Offloader offloader(settings, codec("exact"), sink);
    ticket = offloader.submit(stream, chunk);
    ASSERT_TRUE(sink->gate.wait_for_someone());
  }                                         // the sink still holds a part
  static_cast<void>(ticket.wait_staged());  // the source is free all the same
  EXPECT_EQ(ticket.wait_durable().error().code, ErrorCode::cancelled);
  const std::weak_ptr<KeepingSink> watch = sink;
  sink->gate.open();
  EXPECT_TRUE(eventually([&] { return sink.use_count() == 1; }))
      << "what was left behind has ended";
}

TEST_P(OffloadContract, DroppingIsCounted) {
  const OnDevice tensor = make(DType::bf16, {700, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  const auto sink = std::make_shared<KeepingSink>();
  sink->gate.shut();
  OffloaderSettings settings = small();
  settings.overflow = Overflow::drop;
  Offloader offloader(settings, codec("exact"), sink);
  int dropped = 0;
  for (int round = 0; round < 40; ++round) {
    if (offloader.submit(stream, chunk).state() == Ticket::State::dropped) ++dropped;
    std::this_thread::sleep_for(1ms);
  }
  sink->gate.open();
  offloader.close();
  EXPECT_GT(dropped, 0);
  const Counters counters = offloader.counters();
  EXPECT_EQ(counters.chunks_in, 40u);
  EXPECT_EQ(counters.chunks_in, counters.chunks_out + counters.chunks_dropped);
  EXPECT_EQ(counters.chunks_dropped, static_cast<std::uint64_t>(dropped));
}

TEST_P(OffloadContract, MemoryThatIsRefusedIsAClearErrorAndTheNextOneWorks) {
  OffloaderSettings settings = small();
  settings.store_size = std::size_t{1} << 50;
  EXPECT_THROW(Offloader(settings, codec("exact")), OutOfMemory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the program there
  settings = small();
  settings.chunk_size = std::size_t{1} << 34;
  settings.chunks_per_launch = 256;
  settings.device_slots = 64;
  EXPECT_THROW(Offloader(settings, codec("exact")), OutOfMemory);
#endif
  Offloader offloader(small(), codec("exact"));
  const OnDevice tensor = make(DType::bf16, {700, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Kept kept = offloader.keep(stream, {.tensors = {&part, 1}, .keep_alive = {}}).value();
  EXPECT_TRUE(kept.ticket().wait_durable());
}

TEST_P(OffloadContract, MisuseIsRefused) {
  const OnDevice tensor = make(DType::bf16, {700, 64}, Kind::channels, 1);
  const ChunkTensor part = whole_of("t", tensor);
  const Chunk chunk{.tensors = {&part, 1}, .keep_alive = {}};
  const auto sink = std::make_shared<KeepingSink>();
  Offloader to_sink(small(), codec("exact"), sink);
  EXPECT_THROW(to_sink.keep(stream, chunk).value(), LogicError);
  EXPECT_THROW(to_sink.submit(stream, {}), LogicError);
  Offloader to_store(small(), codec("exact"));
  EXPECT_THROW(to_store.submit(stream, chunk), LogicError);
  const Kept kept = to_store.keep(stream, chunk).value();
  EXPECT_THROW(static_cast<void>(to_store.restore(stream, kept, {})), LogicError);
  EXPECT_THROW(static_cast<void>(to_store.restore(stream, Kept(), {})), LogicError);
  ChunkTensor outside = part;
  outside.what.part.first_elem = 1;
  EXPECT_THROW(to_sink.submit(stream, {.tensors = {&outside, 1}, .keep_alive = {}}), LogicError);
  to_sink.close();
  EXPECT_THROW(to_sink.submit(stream, chunk), LogicError);
}

}  // namespace offramp::testing_offload
