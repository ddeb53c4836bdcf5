// SPDX-License-Identifier: Apache-2.0
#include "unit/container/sample_archive.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

namespace offramp::test {
namespace {

TEST(Cut, EveryPrefixOpensToItsLastWholeRecord) {
  const auto sample = make_sample();
  for (std::size_t size = 0; size <= sample.bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const Bytes cut(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(size));
    const auto reader = open_bytes(cut);
    if (size < 16) {
      ASSERT_FALSE(reader);
      EXPECT_EQ(reader.error().code, ErrorCode::truncated);
      continue;
    }
    ASSERT_TRUE(reader);
    std::vector<WrittenPart> expected;
    std::uint64_t end = size < sample.metadata_end ? 16 : sample.metadata_end;
    for (const auto& part : sample.parts) {
      if (part.end > size) break;
      expected.push_back(part);
      end = part.end;
    }
    EXPECT_EQ(readable(*reader), written(expected));
    EXPECT_EQ(reader->part_count(), expected.size());
    EXPECT_EQ(reader->records_end(), end);
    const bool has_metadata = size >= sample.metadata_end;
    EXPECT_EQ(reader->metadata().value().size(), has_metadata ? 2u : 0u);
    EXPECT_EQ(reader->complete(), size == sample.bytes.size());
    EXPECT_EQ(verify_archive(*reader).sound(), size == sample.bytes.size());
    if (!reader->complete()) {
      EXPECT_EQ(reader->damage().code, ErrorCode::truncated);
      const bool hopeful = reader->damage().remedy == "recover saves the whole records";
      EXPECT_EQ(hopeful, !expected.empty());
    }
  }
}

TEST(Cut, EveryPrefixIsRecoveredToAWholeArchive) {
  const auto sample = make_sample();
  for (std::size_t size = 16; size <= sample.bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const Bytes cut(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(size));
    Bytes saved;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
    const auto report = recover_archive(MemoryAccess(cut), writer).value();
    writer.finish();
    std::vector<WrittenPart> expected;
    std::uint64_t end = size < sample.metadata_end ? 16 : sample.metadata_end;
    for (const auto& part : sample.parts) {
      if (part.end > size) break;
      expected.push_back(part);
      end = part.end;
    }
    const auto reader = open_bytes(saved).value();
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(readable(reader), written(expected));
    EXPECT_EQ(report.parts, expected.size());
    if (!report.had_index) {
      EXPECT_EQ(report.lost_bytes, size - end);
    }
    const bool torn = expected.size() == 2;  // the second half of a tensor is gone
    EXPECT_EQ(report.incomplete.size(), torn ? 1u : 0u);
    if (size == sample.bytes.size()) {
      EXPECT_TRUE(report.lossless());
      EXPECT_EQ(saved, sample.bytes);
    }
  }
}

TEST(Cut, ZerosBehindTheLastRecordAreNoRecord) {
  const auto sample = make_sample();
  for (const auto& part : sample.parts) {
    Bytes torn(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(part.end));
    torn.resize(sample.bytes.size());
    const auto reader = open_bytes(torn).value();
    EXPECT_FALSE(reader.complete());
    EXPECT_EQ(reader.records_end(), part.end);
  }
}

}  // namespace
}  // namespace offramp::test
