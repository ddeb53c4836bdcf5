// SPDX-License-Identifier: Apache-2.0
#include "unit/container/sample_archive.hpp"

#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace offramp::test {
namespace {

TEST(Archive, GivesBackWhatWasWritten) {
  const auto sample = make_sample();
  const auto reader = open_bytes(sample.bytes).value();
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.damage().code, ErrorCode{});
  EXPECT_EQ(reader.version(), 1u);
  EXPECT_EQ(reader.records_end(), sample.parts.back().end);
  EXPECT_EQ(reader.metadata().value(), sample.metadata);
  EXPECT_EQ(readable(reader), written(sample.parts));
  EXPECT_EQ(reader.part_count(), 5u);
  EXPECT_EQ(reader.max_payload_size(), 18u);
  ASSERT_EQ(reader.tensors().size(), 4u);
  EXPECT_EQ(reader.tensors()[1].name, "layers.0.matrix");
  EXPECT_EQ(reader.tensors()[1].desc, (TensorDesc{DType::bf16, Shape{4, 3}}));
  ASSERT_EQ(reader.tensors()[1].parts.size(), 2u);
  EXPECT_EQ(reader.tensors()[1].parts[1].first_elem, 9u);
  EXPECT_EQ(reader.tensors()[1].parts[1].shape, Shape{3});
  EXPECT_EQ(reader.tensors()[1].parts[1].raw_size, 6u);
  EXPECT_FALSE(reader.tensors()[1].first_gap());
  EXPECT_FALSE(reader.tensors()[2].first_gap());
  EXPECT_EQ(reader.find("scalar"), &reader.tensors()[3]);
  EXPECT_EQ(reader.find("scala"), nullptr);
  const auto chain = reader.chain(reader.tensors()[0].parts[0]);
  EXPECT_EQ(Bytes(chain.begin(), chain.end()), store_chain());
  const auto report = verify_archive(reader);
  EXPECT_TRUE(report.sound());
  EXPECT_EQ(report.parts, 5u);
  EXPECT_EQ(report.payload_bytes, 5u + 18 + 6 + 0 + 8);
}

TEST(Archive, SaysTheSameWithoutItsIndex) {
  const auto sample = make_sample();
  const Bytes cut(sample.bytes.begin(), sample.bytes.end() - 1);
  const auto whole = open_bytes(sample.bytes).value();
  const auto walked = open_bytes(cut).value();
  EXPECT_FALSE(walked.complete());
  ASSERT_EQ(walked.tensors().size(), whole.tensors().size());
  for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
    EXPECT_EQ(walked.tensors()[i].name, whole.tensors()[i].name);
    EXPECT_EQ(walked.tensors()[i].desc, whole.tensors()[i].desc);
    EXPECT_EQ(walked.tensors()[i].parts, whole.tensors()[i].parts);
  }
}

TEST(Archive, SameCallsGiveSameBytes) { EXPECT_EQ(make_sample().bytes, make_sample().bytes); }

TEST(Archive, TakesAPayloadsChecksumFromItsCaller) {
  const auto write = [](auto... checksum) {
    Bytes bytes;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
    const Bytes payload(18, std::byte{7});
    const TensorDesc desc{DType::u8, Shape{18}};
    writer.append(
        {.name = "t", .tensor = desc, .first_elem = 0, .part = desc.shape, .chain = store_chain()},
        payload, checksum(payload)...);
    writer.finish();
    return bytes;
  };
  const auto right = [](const Bytes& payload) { return ArchiveWriter::checksum(payload); };
  const auto wrong = [](const Bytes& payload) { return ArchiveWriter::checksum(payload) + 1; };
  EXPECT_EQ(write(right), write());
  const Bytes bytes = write(wrong);
  EXPECT_FALSE(verify_archive(open_bytes(bytes).value()).sound());
}

TEST(Archive, EmptyOneIsWhole) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  writer.finish();
  const auto reader = open_bytes(bytes).value();
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.tensors().empty());
  EXPECT_TRUE(verify_archive(reader).sound());
}

TEST(Archive, AlignsPayloadsAndCostsLittle) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  const TensorDesc desc{DType::bf16, Shape{3, 677, 64}};
  std::uint64_t payload = 0;
  for (int layer = 0; layer < 20; ++layer) {
    const auto name = "model.layers." + std::to_string(layer) + ".self_attn.k_proj.weight";
    payload += append_noise(writer, name, desc, 0, desc.shape).payload.size();
  }
  writer.finish();
  EXPECT_EQ(payload, 20u * 259968);
  EXPECT_LT(bytes.size() - payload, payload / 1000);
  RecordProperty("overhead", static_cast<int>(bytes.size() - payload));
  const auto reader = open_bytes(bytes).value();
  for (const auto& tensor : reader.tensors()) {
    EXPECT_EQ((tensor.parts[0].record_offset + tensor.parts[0].header_size) % 64, 0u);
  }
}

TEST(Archive, TakesAnyUtf8NameAndNoOther) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  const TensorDesc desc{DType::u8, Shape{1}};
  const std::string longest(max_name_size, 'x');
  const std::vector<std::string> names{"", "/", "../../etc", "a\nb", "☃", longest, longest + "?"};
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    append_noise(writer, names[i], desc, 0, desc.shape);
  }
  const auto size = writer.size();
  for (const std::string& name :
       {names.back(), std::string("a\0b", 3), std::string("\xff"), std::string("\xc0\x80")}) {
    try {
      append_noise(writer, name, desc, 0, desc.shape);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_EQ(error.error().code, ErrorCode::bad_name);
    }
  }
  EXPECT_EQ(writer.size(), size);
  writer.finish();
  const auto reader = open_bytes(bytes).value();
  EXPECT_TRUE(verify_archive(reader).sound());
  for (std::size_t i = 0; i + 1 < names.size(); ++i) EXPECT_NE(reader.find(names[i]), nullptr);
}

TEST(Archive, WriterRefusesWhatIsNoPart) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  const TensorDesc desc{DType::u8, Shape{4}};
  const auto append = [&](std::uint64_t first, const Shape& part, const Bytes& chain) {
    writer.append({.name = "t", .tensor = desc, .first_elem = first, .part = part, .chain = chain},
                  {});
  };
  EXPECT_THROW(append(1, Shape{4}, store_chain()), LogicError);
  EXPECT_THROW(append(~std::uint64_t{0}, Shape{2}, store_chain()), LogicError);
  EXPECT_THROW(append(0, Shape{0}, store_chain()), LogicError);
  EXPECT_THROW(append(0, Shape{4}, {}), LogicError);
  EXPECT_THROW(append(0, Shape{4}, Bytes(1)), LogicError);
  Bytes chain = store_chain();
  chain.push_back({});
  EXPECT_THROW(append(0, Shape{4}, chain), LogicError);
  EXPECT_EQ(writer.size(), 16u);
  writer.finish();
  EXPECT_THROW(append(0, Shape{4}, store_chain()), LogicError);
  EXPECT_THROW(writer.finish(), LogicError);
}

TEST(Archive, WriterIsPinnedToAVersion) {
  Bytes bytes;
  for (const std::uint32_t version : {0u, max_archive_version + 1}) {
    EXPECT_THROW(ArchiveWriter(std::make_unique<MemoryByteSink>(bytes),
                               ArchiveWriter::Settings{.version = version}),
                 LogicError);
  }
  for (auto version = min_archive_version; version <= max_archive_version; ++version) {
    bytes.clear();
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes),
                         ArchiveWriter::Settings{.version = version});
    writer.finish();
    EXPECT_EQ(open_bytes(bytes).value().version(), version);
  }
}

TEST(Archive, MetadataKeysStandOnce) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  writer.append_metadata({{"a", "1"}});
  EXPECT_THROW(writer.append_metadata({{"b", "2"}, {"a", "1"}}), DataError);
  EXPECT_THROW(writer.append_metadata({{"c", "\xff"}}), DataError);
  writer.append_metadata({{"b", "3"}});
  writer.finish();
  const auto reader = open_bytes(bytes).value();
  EXPECT_EQ(reader.metadata().value(), (Metadata{{"a", "1"}, {"b", "3"}}));
}

// Fails each append from the n-th on.
class FailingSink final : public ByteSink {
 public:
  explicit FailingSink(int good) : good_(good) {}
  const std::string& name() const noexcept override { return name_; }
  void append(std::span<const std::span<const std::byte>>) override {
    if (good_-- <= 0) throw IoError("write", name_, 28);
  }
  void commit() override {}

 private:
  int good_;
  std::string name_{"failing"};
};

TEST(Archive, WriterTakesNothingAfterAFailedWrite) {
  EXPECT_THROW(ArchiveWriter(std::make_unique<FailingSink>(0)), IoError);
  ArchiveWriter writer(std::make_unique<FailingSink>(1));
  const TensorDesc desc{DType::u8, Shape{4}};
  EXPECT_THROW(append_noise(writer, "t", desc, 0, desc.shape), IoError);
  EXPECT_THROW(append_noise(writer, "u", desc, 0, desc.shape), LogicError);
  EXPECT_THROW(writer.finish(), LogicError);
}

TEST(Archive, ReaderKeepsItsLimits) {
  const auto sample = make_sample();
  const Bytes cut(sample.bytes.begin(), sample.bytes.end() - 1);
  for (const Bytes& bytes : {sample.bytes, cut}) {
    const auto refused = [&](const ReaderLimits& limits) {
      const auto reader = open_bytes(bytes, limits);
      return !reader && reader.error().code == ErrorCode::limit_exceeded;
    };
    EXPECT_TRUE(refused({.max_payload_size = 17}));
    EXPECT_FALSE(refused({.max_payload_size = 18}));
    EXPECT_TRUE(refused({.max_raw_size = 17}));
    EXPECT_FALSE(refused({.max_raw_size = 18}));
    EXPECT_TRUE(refused({.max_records = 5}));
    EXPECT_FALSE(refused({.max_records = 6}));
    EXPECT_TRUE(refused({.max_memory = 1000}));
  }
  const auto reader = open_bytes(sample.bytes, {.max_metadata_size = 40}).value();
  ASSERT_FALSE(reader.metadata());
  EXPECT_EQ(reader.metadata().error().code, ErrorCode::limit_exceeded);
}

TEST(Archive, ReadPayloadWantsABufferOfItsSize) {
  const auto sample = make_sample();
  const auto reader = open_bytes(sample.bytes).value();
  Bytes buffer(6);
  EXPECT_THROW((void)reader.read_payload(reader.tensors()[0], reader.tensors()[0].parts[0], buffer),
               LogicError);
}

}  // namespace
}  // namespace offramp::test
