// SPDX-License-Identifier: Apache-2.0
#include "unit/container/sample_archive.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace offramp::test {
namespace {

// There is no byte without effect: each flip is seen, and what still reads is what was written.
TEST(Flip, EveryBitIsDetected) {
  const auto sample = make_sample();
  const auto all = written(sample.parts);
  Bytes bytes = sample.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << bit);
      bytes[at] ^= std::byte{1} << bit;
      if (const auto reader = open_bytes(bytes)) {
        EXPECT_FALSE(verify_archive(*reader).sound());
        for (const auto& [place, payload] : readable(*reader)) {
          const auto true_part = all.find(place);
          ASSERT_NE(true_part, all.end());
          EXPECT_EQ(payload, true_part->second);
        }
      } else {
        EXPECT_LT(at, 16u) << reader.error().message();
      }
      bytes[at] = sample.bytes[at];
    }
  }
}

TEST(Flip, RecoverLosesNoRecordButTheFlippedOne) {
  const auto sample = make_sample();
  const auto all = written(sample.parts);
  Bytes bytes = sample.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    SCOPED_TRACE(at);
    bytes[at] ^= std::byte{0x10};
    Bytes saved;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
    const auto report = recover_archive(MemoryAccess(bytes), writer).value();
    writer.finish();
    auto expected = all;
    std::uint64_t begin = sample.metadata_end;
    for (const auto& part : sample.parts) {
      if (at >= begin && at < part.end) expected.erase({part.name, part.first_elem});
      begin = part.end;
    }
    EXPECT_EQ(readable(open_bytes(saved).value()), expected);
    EXPECT_GT(report.lost_bytes, 0u);
    EXPECT_FALSE(report.lossless());
    EXPECT_TRUE(std::ranges::any_of(
        report.lost, [&](const auto& lost) { return lost.begin <= at && at < lost.end; }));
    bytes[at] = sample.bytes[at];
  }
}

}  // namespace
}  // namespace offramp::test
