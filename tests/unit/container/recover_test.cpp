// SPDX-License-Identifier: Apache-2.0
#include "unit/container/sample_archive.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace offramp::test {
namespace {

struct Recovered {
  RecoverReport report;
  std::map<std::pair<std::string, std::uint64_t>, Bytes> parts;
};

Recovered recover(const Bytes& bytes) {
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  Recovered result{recover_archive(MemoryAccess(bytes), writer).value(), {}};
  writer.finish();
  const auto reader = open_bytes(saved).value();
  EXPECT_TRUE(reader.complete());
  result.parts = readable(reader);
  EXPECT_EQ(result.parts.size(), result.report.parts);
  return result;
}

std::map<std::pair<std::string, std::uint64_t>, Bytes> without(
    const SampleArchive& sample, std::initializer_list<std::size_t> lost) {
  auto parts = written(sample.parts);
  for (const std::size_t i : lost) parts.erase({sample.parts[i].name, sample.parts[i].first_elem});
  return parts;
}

TEST(Recover, CopiesASoundArchiveByteForByte) {
  const auto sample = make_sample();
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  const auto report = recover_archive(MemoryAccess(sample.bytes), writer).value();
  writer.finish();
  EXPECT_EQ(saved, sample.bytes);
  EXPECT_TRUE(report.lossless());
  EXPECT_TRUE(report.lost.empty());
  EXPECT_EQ(report.metadata_records, 1u);
}

TEST(Recover, GoesOnBehindDamageAndNamesIt) {
  const auto sample = make_sample();
  Bytes bytes = sample.bytes;
  bytes[sample.parts[1].end - 1] ^= std::byte{1};  // payload of part 1
  const auto payload = recover(bytes);
  EXPECT_EQ(payload.parts, without(sample, {1}));
  ASSERT_EQ(payload.report.lost.size(), 1u);
  EXPECT_EQ(payload.report.lost[0].begin, sample.parts[0].end);
  EXPECT_EQ(payload.report.lost[0].end, sample.parts[1].end);
  EXPECT_EQ(payload.report.lost[0].tensor, "layers.0.matrix");
  EXPECT_EQ(payload.report.lost[0].why.code, ErrorCode::bad_checksum);
  EXPECT_EQ(payload.report.incomplete, std::vector<std::string>{"layers.0.matrix"});
  EXPECT_TRUE(payload.report.had_index);
  EXPECT_FALSE(payload.report.lossless());

  // From inside one record into the next but one.
  std::fill(bytes.begin() + static_cast<long>(sample.parts[0].end) + 20,
            bytes.begin() + static_cast<long>(sample.parts[2].end) - 3, std::byte{0xf0});
  const auto region = recover(bytes);
  EXPECT_EQ(region.parts, without(sample, {1, 2}));
  EXPECT_EQ(region.report.lost_bytes, sample.parts[2].end - sample.parts[0].end);
}

TEST(Recover, FindsRecordsBehindMissingBytes) {
  const auto sample = make_sample();
  // Every range of up to 300 bytes from some starts, removed.
  for (std::size_t begin = 16; begin < sample.parts[3].end; begin += 13) {
    for (std::size_t size = 1; size < 300; size += 41) {
      SCOPED_TRACE(testing::Message() << size << " bytes at " << begin);
      if (begin + size > sample.parts[3].end) break;
      Bytes bytes = sample.bytes;
      bytes.erase(bytes.begin() + static_cast<long>(begin),
                  bytes.begin() + static_cast<long>(begin + size));
      auto expected = written(sample.parts);
      std::uint64_t start = sample.metadata_end;
      for (const auto& part : sample.parts) {
        if (begin < part.end && begin + size > start) {
          expected.erase({part.name, part.first_elem});
        }
        start = part.end;
      }
      const auto found = recover(bytes);
      EXPECT_EQ(found.parts, expected);
      EXPECT_GE(found.report.lost_bytes, size);
    }
  }
}

TEST(Recover, SaysThatAWholeRecordIsMissing) {
  const auto sample = make_sample();
  Bytes bytes = sample.bytes;
  bytes.erase(bytes.begin() + static_cast<long>(sample.parts[0].end),
              bytes.begin() + static_cast<long>(sample.parts[1].end));
  const auto found = recover(bytes);
  EXPECT_EQ(found.parts, without(sample, {1}));
  EXPECT_EQ(found.report.lost_bytes, sample.parts[1].end - sample.parts[0].end);
  EXPECT_FALSE(found.report.lossless());
}

TEST(Recover, NeverTakesAnArchiveInsideAPayloadForItsOwn) {
  const auto inner = make_sample();
  for (const bool in_header : {false, true}) {
    Bytes bytes;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
    const TensorDesc outer{DType::u8, Shape{inner.bytes.size()}};
    const auto chain = store_chain();
    writer.append({.name = "archive", .tensor = outer, .part = outer.shape, .chain = chain},
                  inner.bytes);
    const auto end = writer.size();
    append_noise(writer, "behind", {DType::u8, Shape{3}}, 0, Shape{3});
    writer.finish();
    bytes[in_header ? 40 : end - 1] ^= std::byte{1};
    const auto found = recover(bytes);
    ASSERT_EQ(found.parts.size(), 1u);
    EXPECT_EQ(found.parts.begin()->first.first, "behind");
    EXPECT_EQ(found.report.lost_bytes, end - 16);
  }
}

TEST(Recover, ReadsAnArchiveWhoseFileHeaderIsGone) {
  const auto sample = make_sample();
  Bytes bytes = sample.bytes;
  std::fill_n(bytes.begin(), 16, std::byte{0});
  const auto found = recover(bytes);
  EXPECT_EQ(found.parts, written(sample.parts));
  EXPECT_EQ(found.report.lost_bytes, 16u);
}

TEST(Recover, RefusesWhatHoldsNoArchive) {
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  for (const Bytes& bytes : {Bytes(), Bytes(5), noise(5000, 1), Bytes(3 << 20)}) {
    const auto report = recover_archive(MemoryAccess(bytes), writer);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::bad_magic);
  }
  Bytes newer = make_sample().bytes;
  newer[8] = std::byte{9};
  newer[16] ^= std::byte{1};  // a record of another form
  const auto report = recover_archive(MemoryAccess(newer), writer);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::bad_version);
}

TEST(Recover, FindsMagicsAcrossItsWindows) {
  // The next record's magic is moved across the end of the first search window, at byte 1 MiB + 17.
  for (std::size_t hole = (1 << 20) - 130; hole < (1 << 20) + 20; hole += 3) {
    Bytes bytes;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
    append_noise(writer, "a", {DType::u8, Shape{hole}}, 0, Shape{hole});
    append_noise(writer, "b", {DType::u8, Shape{9}}, 0, Shape{9});
    writer.finish();
    bytes[24] ^= std::byte{1};
    const auto found = recover(bytes);
    ASSERT_EQ(found.parts.size(), 1u);
    EXPECT_EQ(found.parts.begin()->first.first, "b");
  }
}

TEST(Recover, StopsWhenAsked) {
  const auto sample = make_sample();
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  RecoverSettings settings;
  int calls = 0;
  settings.progress = [&](std::uint64_t done, std::uint64_t size) {
    EXPECT_LT(done, size);
    return ++calls < 3;
  };
  const auto report = recover_archive(MemoryAccess(sample.bytes), writer, settings);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::cancelled);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace offramp::test
