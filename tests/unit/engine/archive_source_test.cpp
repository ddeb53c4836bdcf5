// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_set.hpp"
#include "engine_kit.hpp"

#include <offramp/container/archive_writer.hpp>
#include <offramp/engine/archive_source.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/memory_source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace offramp {
namespace {

using testing_engine::Bytes;

// A tensor of four parts in an archive of its own folder.
class ArchiveSourceTest : public testing::Test {
 protected:
  static constexpr std::size_t part_size = 65'536;
  static constexpr std::uint64_t part_elems = part_size / 2;

  void SetUp() override {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = std::byte(i * 7 + i / 500);
    MemorySource memory({{.name = "it", .view = {.desc = desc_, .bytes = values_}}});
    ArchiveWriter writer(path_, OutputFile::Existing::refuse);
    JobSettings settings;
    settings.chunk_size = part_size;
    settings.threads = 1;
    ASSERT_TRUE(pack(memory, writer, testing_engine::codec("store"), settings));
    auto reader = ArchiveReader::open(path_).value();
    ASSERT_EQ(reader.tensors()[0].parts.size(), 4u);
    parts_ = reader.tensors()[0].parts;
    source_ = ArchiveSource::open(path_, workers_).value();
  }

  // Damages a part's payload: whoever decodes it again is told so by its checksum.
  void damage(std::size_t part) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    const auto at =
        static_cast<std::streamoff>(parts_[part].record_offset + parts_[part].header_size + 100);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
    ASSERT_TRUE(file.flush());
  }
  void expect_read(std::uint64_t first, std::uint64_t elems) {
    Bytes out(elems * 2);
    source_->read(0, first, out);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), values_.begin() + static_cast<long>(first * 2)))
        << first << " + " << elems;
  }
  void expect_refused(std::uint64_t first, std::uint64_t elems) {
    Bytes out(elems * 2);
    EXPECT_THROW(source_->read(0, first, out), DataError) << first << " + " << elems;
  }

  TensorDesc desc_{DType::u16, {4 * part_elems}};
  Bytes values_ = Bytes(desc_.size());
  Workers workers_{1};
  ScratchFolder folder_;
  std::string path_{folder_ / "it.ofr"};
  std::vector<ArchivePart> parts_;
  std::unique_ptr<ArchiveSource> source_;
};

TEST_F(ArchiveSourceTest, AnyRangeIsThatOfTheTensor) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, part_elems - 1, part_elems,
                                    part_elems + 1, 3 * part_elems}) {
    for (const std::uint64_t elems :
         {std::uint64_t{0}, std::uint64_t{1}, part_elems - 1, part_elems, part_elems + 1,
          2 * part_elems + 5, 4 * part_elems}) {
      if (first + elems <= 4 * part_elems) expect_read(first, elems);
    }
  }
  Bytes out(4);
  EXPECT_THROW(source_->read(0, 4 * part_elems - 1, out), DataError);
  EXPECT_THROW(source_->read(0, 0, std::span(out).first(3)), LogicError);
}

TEST_F(ArchiveSourceTest, APartReadInPiecesIsDecodedOnce) {
  expect_read(part_elems, 100);
  damage(1);
  for (std::uint64_t at = 100; at < part_elems; at += 300) {
    expect_read(part_elems + at, std::min<std::uint64_t>(300, part_elems - at));
  }
  expect_read(part_elems + 50, part_elems);  // from what is kept, and on into the next part
  expect_refused(part_elems + 50, 100);      // that one is kept now
}

TEST_F(ArchiveSourceTest, OnlyTheLastPartIsKeptAndNoneThatWasReadWhole) {
  expect_read(0, 10);
  expect_read(part_elems, part_elems);
  damage(0);
  damage(1);
  expect_read(10, 10);
  expect_refused(part_elems, 10);
  expect_refused(10, 10);  // the attempt to keep another gave it up
  expect_refused(2 * part_elems - 10, 10);
  expect_read(2 * part_elems + 10, 10);
}

}  // namespace
}  // namespace offramp
