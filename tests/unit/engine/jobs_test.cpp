// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/engine_kit.hpp"

#include <offramp/container/archive_reader.hpp>
#include <offramp/container/archive_writer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/memory_sink.hpp>
#include <offramp/transport/memory_source.hpp>

#include <atomic>

namespace offramp::testing_engine {
namespace {

/// An archive in memory that knows whether it was committed.
class VectorSink final : public ByteSink {
 public:
  struct State {
    Bytes bytes{};
    bool committed{false};
  };
  explicit VectorSink(State& state) : state_(&state) {}
  const std::string& name() const noexcept override { return name_; }
  void append(std::span<const std::span<const std::byte>> pieces) override {
    for (const auto piece : pieces) {
      state_->bytes.insert(state_->bytes.end(), piece.begin(), piece.end());
    }
  }
  void commit() override { state_->committed = true; }

 private:
  State* state_;
  std::string name_{"a vector"};
};

/// Counts what is read of an archive.
class CountingAccess final : public RandomAccess {
 public:
  CountingAccess(const Bytes& bytes, std::atomic<std::uint64_t>& read)
      : access_(bytes), read_(&read) {}
  const std::string& name() const noexcept override { return access_.name(); }
  std::uint64_t size() const noexcept override { return access_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    *read_ += out.size();
    access_.read(offset, out);
  }

 private:
  MemoryAccess access_;
  std::atomic<std::uint64_t>* read_;
};

struct Sample {
  std::string name;
  TensorDesc desc;
  Bytes bytes;
};

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](std::string name, DType dtype, Shape shape) {
    const TensorDesc desc{.dtype = dtype, .shape = shape};
    const auto seed = static_cast<unsigned>(all.size());
    all.push_back(
        {std::move(name), desc,
         dtype == DType::bf16 ? smooth_bytes(desc.size(), seed) : random_bytes(desc.size(), seed)});
  };
  add("zeta", DType::bf16, {3, 1000, 64});  // the order is the source's, not the alphabet's
  add("alpha", DType::bf16, {700, 100});
  add("empty", DType::fp32, {3, 0, 2});
  add("scalar", DType::fp64, {});
  for (int at = 0; at < 30; ++at) add("small" + std::to_string(at), DType::i16, {40});
  add("bytes", DType::u8, {100'001});
  add("last", DType::boolean, {1});
  return all;
}

MemorySource source_of(const std::vector<Sample>& tensors) {
  std::vector<NamedTensor> named;
  for (const Sample& tensor : tensors) {
    named.push_back({.name = tensor.name, .view = {.desc = tensor.desc, .bytes = tensor.bytes}});
  }
  return MemorySource(std::move(named), {{"format", "pt"}, {"note", "a \n b"}});
}

JobSettings small_job(std::size_t threads = 2) {
  JobSettings settings;
  settings.chunk_size = 40'000;
  settings.host_slots = 4;
  settings.coded_slots = 2;
  settings.threads = threads;
  return settings;
}

VectorSink::State packed(const std::vector<Sample>& tensors, std::string_view codec_name,
                         const JobSettings& settings = small_job()) {
  VectorSink::State state;
  ArchiveWriter writer(std::make_unique<VectorSink>(state));
  auto source = source_of(tensors);
  const auto report = pack(source, writer, codec(codec_name), settings).value();
  EXPECT_EQ(report.tensors, tensors.size());
  EXPECT_EQ(report.counters.bytes_in, report.counters.bytes_done);
  EXPECT_TRUE(state.committed);
  return state;
}

ArchiveReader open(const Bytes& bytes) {
  return ArchiveReader::open(std::make_unique<MemoryAccess>(bytes)).value();
}

class JobTest : public testing::TestWithParam<std::string> {
 protected:
  const std::vector<Sample> tensors = samples();
};

INSTANTIATE_TEST_SUITE_P(Codecs, JobTest, testing::ValuesIn(codec_names()), [](const auto& test) {
  return test.param == "exact-dense" ? std::string("exact_dense") : test.param;
});

TEST_P(JobTest, PacksVerifiesAndRestoresEverything) {
  const auto archive = packed(tensors, GetParam());
  const ArchiveReader reader = open(archive.bytes);
  const auto verified = verify(reader, small_job()).value();
  EXPECT_EQ(verified.tensors, tensors.size());
  MemorySink sink;
  const auto report = unpack(reader, sink, small_job()).value();
  EXPECT_EQ(report.counters.bytes_done, verified.counters.bytes_done);
  ASSERT_EQ(sink.tensors().size(), tensors.size());
  EXPECT_EQ(sink.metadata(), (Metadata{{"format", "pt"}, {"note", "a \n b"}}));
  for (std::size_t at = 0; at < tensors.size(); ++at) {
    EXPECT_EQ(sink.tensors()[at].name, tensors[at].name);
    EXPECT_EQ(sink.tensors()[at].desc, tensors[at].desc);
    EXPECT_TRUE(std::ranges::equal(sink.bytes(at), tensors[at].bytes)) << tensors[at].name;
  }
}

TEST_P(JobTest, TheArchiveDoesNotDependOnThreadsOrSlots) {
  const Bytes expected = packed(tensors, GetParam()).bytes;
  for (const std::size_t threads : {0u, 1u, 3u, 8u, 11u}) {
    for (const std::size_t slots : {0u, 1u, 5u}) {
      auto settings = small_job(threads);
      settings.host_slots = slots;
      settings.coded_slots = slots;
      EXPECT_TRUE(packed(tensors, GetParam(), settings).bytes == expected)
          << threads << " threads, " << slots << " slots";
    }
  }
  auto settings = small_job();
  settings.workers = std::make_shared<Workers>(3);
  EXPECT_TRUE(packed(tensors, GetParam(), settings).bytes == expected);
}

TEST(PackSlots, GrowWithTheThreadsUpToEight) {
  const auto tensors = samples();
  const auto counters = [&](std::size_t threads, std::size_t host_slots) {
    auto settings = small_job(threads);
    settings.host_slots = host_slots;
    settings.coded_slots = 0;
    auto source = source_of(tensors);
    VectorSink::State state;
    ArchiveWriter writer(std::make_unique<VectorSink>(state));
    return pack(source, writer, codec("exact"), settings).value().counters;
  };
  for (const auto& [threads, more] : {std::pair{1u, 0u}, {2u, 0u}, {3u, 3u}, {8u, 8u}, {20u, 8u}}) {
    const Counters own = counters(threads, 0);
    EXPECT_EQ(own.host_slots, 6 + more) << threads;
    EXPECT_EQ(own.coded_slots, 3 + more) << threads;
    EXPECT_EQ(counters(threads, 4).host_slots, 4u) << "as it was told";
  }
}

TEST_P(JobTest, RestoresWithAnyThreadsAndSlots) {
  const auto archive = packed(tensors, GetParam());
  for (const std::size_t threads : {1u, 4u}) {
    auto settings = small_job(threads);
    settings.host_slots = 1;
    settings.coded_slots = 1;
    settings.chunk_size = 1;  // parts are then larger than the job expects
    MemorySink sink;
    ASSERT_TRUE(unpack(open(archive.bytes), sink, settings));
    EXPECT_TRUE(std::ranges::equal(sink.bytes(0), tensors[0].bytes));
  }
}

TEST_P(JobTest, RestoresRowsAndReadsOnlyTheirParts) {
  const auto archive = packed(tensors, GetParam());
  std::atomic<std::uint64_t> read{0};
  const auto reader =
      ArchiveReader::open(std::make_unique<CountingAccess>(archive.bytes, read)).value();
  Workers workers(2);
  const Sample& zeta = tensors[0];
  for (const auto& [first, rows] :
       {std::pair{0u, 1u}, {100u, 100u}, {950u, 100u}, {2999u, 1u}, {0u, 3000u}, {5u, 0u}}) {
    Bytes out(rows * 64 * 2);
    ASSERT_TRUE(
        read_rows(reader, {.tensor = "zeta", .first_row = first, .rows = rows}, out, workers));
    EXPECT_TRUE(std::ranges::equal(out, std::span(zeta.bytes).subspan(first * 128, out.size())))
        << first << " + " << rows;
  }
  read = 0;
  Bytes out(100 * 64 * 2);
  ASSERT_TRUE(read_rows(reader, {.tensor = "zeta", .first_row = 100, .rows = 100}, out, workers));
  EXPECT_GT(read, 0u);
  EXPECT_LT(read, 45'000u) << "one part of a tensor of ten";

  Bytes some(3 * 2);
  ASSERT_TRUE(read_elems(reader, {.tensor = "zeta", .first_elem = 12'345}, some, workers));
  EXPECT_TRUE(std::ranges::equal(some, std::span(zeta.bytes).subspan(12'345 * 2, 6)));
}

TEST_P(JobTest, RefusesRangesThatAreNotThere) {
  const auto archive = packed(tensors, GetParam());
  const ArchiveReader reader = open(archive.bytes);
  Workers workers(1);
  Bytes out(128);
  const auto rows = [&](std::string_view name, std::uint64_t first, std::uint64_t count) {
    return read_rows(reader, {.tensor = name, .first_row = first, .rows = count}, out, workers);
  };
  EXPECT_EQ(rows("nobody", 0, 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(rows("zeta", 3000, 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(rows("zeta", UINT64_MAX, 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(rows("zeta", 1, UINT64_MAX).error().code, ErrorCode::not_found);
  EXPECT_NE(rows("zeta", 3000, 1).error().what.find("3000 rows"), std::string::npos);
  EXPECT_THROW(static_cast<void>(rows("zeta", 0, 2)), LogicError);
  EXPECT_EQ(
      read_elems(reader, {.tensor = "zeta", .first_elem = 192'000 - 63}, out, workers).error().code,
      ErrorCode::not_found);
}

TEST_P(JobTest, AFlippedPayloadByteIsFound) {
  auto archive = packed(tensors, GetParam());
  std::uint64_t at = 0;
  {
    const ArchiveReader reader = open(archive.bytes);
    const ArchivePart& part = reader.tensors()[1].parts[1];
    at = part.record_offset + part.header_size + part.payload_size / 2;
  }
  archive.bytes[at] ^= std::byte{0x10};
  const ArchiveReader reader = open(archive.bytes);
  const auto checked = verify(reader, small_job());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::bad_checksum);
  MemorySink sink;
  EXPECT_EQ(unpack(reader, sink, small_job()).error().code, ErrorCode::bad_checksum);
  EXPECT_THROW(static_cast<void>(sink.tensors()), LogicError) << "not finished";
}

TEST_P(JobTest, SoundChecksumsOverNonsenseAreFound) {
  VectorSink::State state;
  ArchiveWriter writer(std::make_unique<VectorSink>(state));
  const TensorDesc desc = bf16(10'000);
  const Bytes chain = codec(GetParam()).serialize();
  writer.append(
      {.name = "bad", .tensor = desc, .first_elem = 0, .part = desc.shape, .chain = chain},
      random_bytes(999, 1));
  writer.finish();
  const ArchiveReader reader = open(state.bytes);
  const auto checked = verify(reader, small_job());
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("'bad'"), std::string::npos) << checked.error().what;
  Workers workers(1);
  Bytes out(20);
  EXPECT_FALSE(read_elems(reader, {.tensor = "bad", .first_elem = 0}, out, workers));
}

TEST(Jobs, AMissingPartIsRefusedBeforeAnythingIsWritten) {
  VectorSink::State state;
  ArchiveWriter writer(std::make_unique<VectorSink>(state));
  const TensorDesc desc = bf16(1000);
  const Bytes chain = codec("store").serialize();
  writer.append({.name = "holed", .tensor = desc, .first_elem = 0, .part = {400}, .chain = chain},
                random_bytes(800, 1));
  writer.append({.name = "holed", .tensor = desc, .first_elem = 500, .part = {500}, .chain = chain},
                random_bytes(1000, 1));
  writer.finish();
  const ArchiveReader reader = open(state.bytes);
  MemorySink sink;
  const auto result = unpack(reader, sink, small_job());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::truncated);
  EXPECT_NE(result.error().what.find("400 to 499"), std::string::npos) << result.error().what;
  EXPECT_FALSE(verify(reader, small_job()));
  // What is there can still be had, by range.
  Workers workers(1);
  Bytes out(200);
  EXPECT_TRUE(read_elems(reader, {.tensor = "holed", .first_elem = 600}, out, workers));
  EXPECT_EQ(read_elems(reader, {.tensor = "holed", .first_elem = 350}, out, workers).error().code,
            ErrorCode::truncated);
}

TEST(Jobs, ACutArchiveAndALargePartAreRefused) {
  const auto tensors = samples();
  auto archive = packed(tensors, "store");
  auto settings = small_job();
  settings.max_part_size = 1000;
  MemorySink sink;
  EXPECT_EQ(unpack(open(archive.bytes), sink, settings).error().code, ErrorCode::limit_exceeded);
  archive.bytes.resize(archive.bytes.size() - 100);
  const auto result = verify(open(archive.bytes), small_job());
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().remedy.empty());
}

/// A source that misbehaves at its n-th read.
class OddSource final : public TensorSource {
 public:
  explicit OddSource(const std::vector<Sample>& tensors) : source_(source_of(tensors)) {
    infos_.assign(source_.tensors().begin(), source_.tensors().end());
  }
  std::span<const TensorInfo> tensors() const noexcept override { return infos_; }
  const Metadata& metadata() const noexcept override { return source_.metadata(); }
  const std::string& name() const noexcept override { return source_.name(); }
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override {
    if (reads++ == odd_read) act();
    source_.read(tensor, first_elem, out);
  }

  std::vector<TensorInfo> infos_;
  std::size_t reads{0};
  std::size_t odd_read{SIZE_MAX};
  std::function<void()> act{};

 private:
  MemorySource source_;
};

TEST(Jobs, AThrowingSourceEndsThePackAtEveryRead) {
  const auto tensors = samples();
  OddSource counted(tensors);
  VectorSink::State whole_state;
  ArchiveWriter whole_writer(std::make_unique<VectorSink>(whole_state));
  ASSERT_TRUE(pack(counted, whole_writer, codec("store"), small_job()));
  ASSERT_GT(counted.reads, 20u);
  for (std::size_t at = 0; at < counted.reads; ++at) {
    OddSource source(tensors);
    source.odd_read = at;
    VectorSink::State state;
    ArchiveWriter writer(std::make_unique<VectorSink>(state));
    if (at % 2) {
      source.act = [] { throw IoError("read", "disk", 5); };
      EXPECT_THROW(static_cast<void>(pack(source, writer, codec("store"), small_job())), IoError);
    } else {
      source.act = [] {
        throw DataError({.code = ErrorCode::truncated, .what = "", .path = {}, .remedy = {}});
      };
      EXPECT_EQ(pack(source, writer, codec("store"), small_job()).error().code,
                ErrorCode::truncated);
    }
    EXPECT_FALSE(state.committed);
  }
}

TEST(Jobs, CancelEndsAPackAtEveryStage) {
  const auto tensors = samples();
  for (const std::size_t at : {0u, 1u, 7u, 20u}) {
    std::stop_source stop;
    OddSource source(tensors);
    source.odd_read = at;
    source.act = [&] { stop.request_stop(); };
    VectorSink::State state;
    ArchiveWriter writer(std::make_unique<VectorSink>(state));
    auto settings = small_job();
    settings.cancel = stop.get_token();
    EXPECT_EQ(pack(source, writer, codec("store"), settings).error().code, ErrorCode::cancelled);
    EXPECT_FALSE(state.committed);
  }
  std::stop_source stop;
  auto settings = small_job();
  settings.cancel = stop.get_token();
  settings.on_progress = [&](const JobProgress& now) {
    if (now.counters.parts_out >= 3) stop.request_stop();
  };
  auto source = source_of(tensors);
  VectorSink::State state;
  ArchiveWriter writer(std::make_unique<VectorSink>(state));
  EXPECT_EQ(pack(source, writer, codec("store"), settings).error().code, ErrorCode::cancelled);
  EXPECT_FALSE(state.committed);
  const auto archive = packed(tensors, "store");
  MemorySink sink;
  EXPECT_EQ(unpack(open(archive.bytes), sink, settings).error().code, ErrorCode::cancelled);
  EXPECT_EQ(verify(open(archive.bytes), settings).error().code, ErrorCode::cancelled);
}

TEST(Jobs, TheSameNameTwiceIsRefusedBeforeAnythingIsWritten) {
  OddSource source(samples());
  source.infos_[5].name = source.infos_[1].name;
  VectorSink::State state;
  ArchiveWriter writer(std::make_unique<VectorSink>(state));
  const auto size = state.bytes.size();
  const auto result = pack(source, writer, codec("store"), small_job());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::duplicate);
  EXPECT_NE(result.error().what.find("alpha"), std::string::npos);
  EXPECT_EQ(state.bytes.size(), size);
  EXPECT_EQ(source.reads, 0u);
}

/// A tensor sink that throws at its n-th call.
class BrokenTensorSink final : public TensorSink {
 public:
  explicit BrokenTensorSink(std::size_t at) : at_(at) {}
  const std::string& name() const noexcept override { return name_; }
  void begin(std::span<const TensorInfo>, const Metadata&) override { call(); }
  void write(std::size_t, std::uint64_t, std::span<const std::byte>) override { call(); }
  void finish() override {
    call();
    finished = true;
  }
  std::size_t calls{0};
  bool finished{false};

 private:
  void call() {
    if (calls++ == at_) throw IoError("write", "a disk", 28);
  }
  std::size_t at_;
  std::string name_{"broken"};
};

TEST(Jobs, AThrowingTensorSinkEndsTheUnpackAtEveryCall) {
  const auto archive = packed(samples(), "store");
  const ArchiveReader reader = open(archive.bytes);
  BrokenTensorSink sound(SIZE_MAX);
  ASSERT_TRUE(unpack(reader, sound, small_job()));
  ASSERT_TRUE(sound.finished);
  for (std::size_t at = 0; at < sound.calls; ++at) {
    BrokenTensorSink sink(at);
    EXPECT_THROW(static_cast<void>(unpack(reader, sink, small_job())), IoError);
    EXPECT_FALSE(sink.finished);
    EXPECT_EQ(sink.calls, at + 1) << "called again after it threw";
  }
}

TEST(Jobs, ProgressRisesToTheTotal) {
  std::vector<JobProgress> seen;
  auto settings = small_job();
  settings.on_progress = [&](const JobProgress& now) { seen.push_back(now); };
  const auto tensors = samples();
  const auto archive = packed(tensors, "store", settings);
  std::uint64_t total = 0;
  for (const Sample& tensor : tensors) total += tensor.bytes.size();
  for (int job = 0; job < 2; ++job) {
    ASSERT_FALSE(seen.empty());
    std::uint64_t before = 0;
    for (const JobProgress& now : seen) {
      EXPECT_EQ(now.bytes_total, total);
      EXPECT_GE(now.bytes_done, before);
      before = now.bytes_done;
    }
    EXPECT_EQ(seen.back().bytes_done, total);
    seen.clear();
    if (job == 0) {
      ASSERT_TRUE(verify(open(archive.bytes), settings));
    }
  }
}

}  // namespace
}  // namespace offramp::testing_engine
