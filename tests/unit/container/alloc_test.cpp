// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "unit/container/failing_new.hpp"
#include "unit/container/sample_archive.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <new>

namespace offramp::test {
namespace {

// Calls `body` with each of its allocations failing in turn. It must throw bad_alloc and leave
// nothing behind. Returns how many allocations there were.
template <class Body>
std::size_t fail_each_allocation(Body&& body) {
  body();  // what is made once and kept is made now
  for (std::size_t nth = 1;; ++nth) {
    const std::size_t before = live_allocations();
    bool thrown = false;
    fail_allocation(nth);
    try {
      body();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool failed = allocation_failed();
    fail_allocation(0);
    EXPECT_EQ(live_allocations(), before) << "allocation " << nth;
    EXPECT_EQ(thrown, failed) << "allocation " << nth;
    if (!failed) return nth - 1;
  }
}

TEST(Allocation, FailingAnywhereInTheWriterIsClean) {
  EXPECT_GT(fail_each_allocation([] { make_sample(); }), 50u);
}

TEST(Allocation, FailingAnywhereInTheReaderIsClean) {
  const auto sample = make_sample();
  const Bytes cut(sample.bytes.begin(), sample.bytes.end() - 1);
  for (const Bytes* bytes : {&sample.bytes, &cut}) {
    EXPECT_GT(fail_each_allocation([&] {
                const auto reader = open_bytes(*bytes).value();
                (void)reader.metadata().value();
                (void)verify_archive(reader);
              }),
              20u);
  }
}

TEST(Allocation, FailingAnywhereInRecoveryIsClean) {
  auto bytes = make_sample().bytes;
  bytes[300] ^= std::byte{1};
  EXPECT_GT(fail_each_allocation([&] {
              Bytes saved;
              ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
              (void)recover_archive(MemoryAccess(bytes), writer).value();
              writer.finish();
            }),
            50u);
}

TEST(Allocation, FailingAnywhereLeavesNoFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "offramp_alloc_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "a.ofr";
  fail_each_allocation([&] {
    ArchiveWriter writer(path, OutputFile::Existing::overwrite);
    const TensorDesc desc{DType::u8, Shape{3}};
    append_noise(writer, "t", desc, 0, desc.shape);
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

// Whatever a small file states, no reader asks for much memory.
TEST(Allocation, IsNeverOfASizeThatAFileStates) {
  const auto sample = make_sample();
  for (std::size_t at = 0; at + 8 <= sample.bytes.size(); ++at) {
    Bytes bytes = sample.bytes;
    store(bytes.data() + at, std::uint64_t{0x00000000ffffff00});
    mend_header(bytes, 16);
    for (const auto& part : sample.parts) mend_header(bytes, part.end);
    mend_header(bytes, sample.metadata_end);
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}}) {
      bytes.resize(bytes.size() - cut);
      fail_allocation(0);
      if (const auto reader = open_bytes(bytes)) {
        (void)reader->metadata();
        (void)verify_archive(*reader);
      }
      EXPECT_LE(largest_allocation(), std::size_t{64} << 10) << "byte " << at;
    }
  }
}

TEST(Allocation, PayloadsAreReadWithoutAny) {
  const auto sample = make_sample();
  const auto reader = open_bytes(sample.bytes).value();
  Bytes payload(reader.tensors()[0].parts[0].payload_size);
  fail_allocation(0);
  const bool read =
      reader.read_payload(reader.tensors()[0], reader.tensors()[0].parts[0], payload).has_value();
  EXPECT_EQ(allocation_count(), 0u);
  EXPECT_TRUE(read);
}

}  // namespace
}  // namespace offramp::test
