// SPDX-License-Identifier: Apache-2.0
#include "container/layout.hpp"
#include "container/varint.hpp"
#include "core/bytes.hpp"
#include "core/hash.hpp"
#include "unit/container/sample_archive.hpp"

#include <offramp/container/recover_archive.hpp>
#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>

// Fields with values that no writer writes, under checksums that match.
namespace offramp::test {
namespace {

constexpr std::array<std::uint64_t, 10> hostile{0,
                                                1,
                                                std::numeric_limits<std::int32_t>::max(),
                                                std::uint64_t{1} << 31,
                                                std::numeric_limits<std::uint32_t>::max(),
                                                std::uint64_t{1} << 32,
                                                std::numeric_limits<std::int64_t>::max(),
                                                std::uint64_t{1} << 63,
                                                std::numeric_limits<std::uint64_t>::max() - 63,
                                                std::numeric_limits<std::uint64_t>::max()};

// Opens, reads and recovers all there is; true if nothing wrong was found.
bool is_taken(const Bytes& bytes) {
  Bytes saved;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(saved));
  const auto report = recover_archive(MemoryAccess(bytes), writer);
  writer.finish();
  EXPECT_TRUE(verify_archive(open_bytes(saved).value()).errors.size() <=
              (report ? report->incomplete.size() : 0));
  const auto reader = open_bytes(bytes);
  if (!reader) return false;
  readable(*reader);
  return verify_archive(*reader).sound();
}

struct Field {
  const char* name;
  std::size_t at;
  std::size_t size;
};

constexpr std::array part_fields{
    Field{"offset", 16, 8},        Field{"header size", 24, 4},   Field{"kind", 28, 2},
    Field{"flags", 30, 2},         Field{"payload size", 32, 8},  Field{"raw size", 48, 8},
    Field{"first element", 56, 8}, Field{"dtype", 64, 1},         Field{"rank", 65, 1},
    Field{"part rank", 66, 1},     Field{"reserved", 67, 1},      Field{"name size", 68, 4},
    Field{"chain size", 72, 4},    Field{"extent 0", 76, 8},      Field{"extent 1", 84, 8},
    Field{"part extent 0", 92, 8}, Field{"part extent 1", 100, 8}};

TEST(Hostile, RecordFieldsAreCheckedBehindTheirChecksum) {
  const auto sample = make_sample();
  const std::size_t record = sample.parts[0].end;  // of the matrix' first part
  // Without an index too, so that nothing else contradicts the record.
  const Bytes cut(sample.bytes.begin(),
                  sample.bytes.begin() + static_cast<long>(sample.parts[2].end));
  for (const Field& field : part_fields) {
    for (const std::uint64_t value : hostile) {
      SCOPED_TRACE(testing::Message() << field.name << " = " << value);
      for (const Bytes& original : {sample.bytes, cut}) {
        Bytes bytes = original;
        std::memcpy(bytes.data() + record + field.at, &value, field.size);
        if (bytes == original) continue;
        mend_header(bytes, record);
        const auto reader = open_bytes(bytes);
        if (reader) {
          EXPECT_FALSE(readable(*reader).contains({"layers.0.matrix", 0}));
        } else {
          EXPECT_NE(reader.error().code, ErrorCode::bad_checksum);
        }
        EXPECT_FALSE(is_taken(bytes));
      }
    }
  }
}

TEST(Hostile, RecordsOfAnotherPlaceEndTheWalk) {
  const auto sample = make_sample();
  const std::size_t record = sample.parts[0].end;
  Bytes bytes(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(sample.parts[2].end));
  for (const std::uint64_t stated : {record + 64, record - 64}) {  // aligned as the true one is
    store(bytes.data() + record + 16, stated);
    mend_header(bytes, record);
    const auto reader = open_bytes(bytes).value();
    EXPECT_EQ(reader.records_end(), record);
    EXPECT_EQ(reader.damage().code, ErrorCode::bad_header);
    EXPECT_EQ(reader.part_count(), 1u);
  }
}

TEST(Hostile, MetadataSizesAreChecked) {
  Bytes original;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(original));
  writer.append_metadata({{"key", "value"}});
  writer.finish();
  const std::size_t record = 16;
  const auto header_size = load<std::uint32_t>(original.data() + record + 24);
  const std::size_t payload = record + header_size;
  const auto payload_size = load<std::uint64_t>(original.data() + record + 32);
  ASSERT_EQ(payload_size, 24u);
  for (const auto& [at, size] : {std::pair{0, 8}, {8, 4}, {15, 4}}) {
    for (const std::uint64_t value : hostile) {
      Bytes bytes = original;
      std::memcpy(bytes.data() + payload + at, &value, static_cast<std::size_t>(size));
      if (bytes == original) continue;
      store(bytes.data() + record + 40, xxh3_64(std::span(bytes).subspan(payload, 24)));
      mend_header(bytes, record);
      const auto reader = open_bytes(bytes).value();
      EXPECT_TRUE(reader.complete());
      ASSERT_FALSE(reader.metadata()) << at << " " << value;
      EXPECT_EQ(reader.metadata().error().code, ErrorCode::bad_header);
      EXPECT_FALSE(is_taken(bytes));
    }
  }
}

TEST(Hostile, FooterFieldsAreChecked) {
  const auto sample = make_sample();
  const std::size_t footer = sample.bytes.size() - layout::footer_size;
  for (const std::size_t field : {0, 8}) {
    for (std::uint64_t value : hostile) {
      Bytes bytes = sample.bytes;
      store(bytes.data() + footer + field, value);
      store(bytes.data() + footer + 16, xxh3_64(std::span(bytes).subspan(footer, 16)));
      const auto reader = open_bytes(bytes).value();
      EXPECT_FALSE(reader.complete());
      EXPECT_EQ(readable(reader), written(sample.parts));
    }
  }
}

// An index made of tokens: `v` numbers and raw bytes, one of which is replaced.
struct Token {
  bool is_varint;
  std::uint64_t value;
};

Bytes with_index(const SampleArchive& sample, const std::vector<Token>& tokens) {
  Bytes payload;
  for (const Token& token : tokens) {
    if (token.is_varint) {
      append_varint(payload, token.value);
    } else {
      payload.push_back(static_cast<std::byte>(token.value));
    }
  }
  const std::uint64_t offset = sample.parts.back().end;
  Bytes bytes(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(offset));
  const std::size_t header_size = round_up(offset + 48, 64) - offset;
  const auto at = bytes.size();
  bytes.insert(bytes.end(), header_size, std::byte{});
  store(bytes.data() + at, layout::record_magic);
  store(bytes.data() + at + 16, offset);
  store(bytes.data() + at + 24, static_cast<std::uint32_t>(header_size));
  store(bytes.data() + at + 28, std::uint16_t{3});
  store(bytes.data() + at + 32, std::uint64_t{payload.size()});
  store(bytes.data() + at + 40, xxh3_64(payload));
  mend_header(bytes, at);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  std::array<std::byte, layout::footer_size> footer{};
  store(footer.data(), offset);
  store(footer.data() + 8, std::uint64_t{bytes.size() + footer.size()});
  store(footer.data() + 16, xxh3_64(std::span(footer).first(16)));
  store(footer.data() + 24, layout::footer_magic);
  bytes.insert(bytes.end(), footer.begin(), footer.end());
  return bytes;
}

std::vector<Token> index_tokens(const SampleArchive& sample) {
  std::vector<Token> tokens;
  const auto v = [&](std::uint64_t value) { tokens.push_back({true, value}); };
  const auto b = [&](std::uint64_t value) { tokens.push_back({false, value}); };
  const auto text = [&](std::string_view bytes) {
    for (const char c : bytes) b(static_cast<unsigned char>(c));
  };
  const auto size_of_record = [&](std::size_t end_before, std::size_t end, std::size_t payload) {
    v(end - end_before - payload);
    v(payload);
  };
  v(1);
  v(5);
  for (const std::byte byte : store_chain()) b(static_cast<std::uint64_t>(byte));
  v(6);
  b(2);
  size_of_record(16, sample.metadata_end, 8 + 4 * 4 + 6 + 2 + 4 + 8);
  std::size_t before = sample.metadata_end;
  const auto place = [&](std::size_t part) {
    b(1);
    size_of_record(before, sample.parts[part].end, sample.parts[part].payload.size());
    before = sample.parts[part].end;
  };
  place(0), b(1), v(0), v(14), text("layers.0.bytes"), b(7), b(1), v(5), v(0);
  place(1), b(0), v(9), v(6), text("matrix"), b(1), b(2), v(4), v(3), v(0), v(0), b(2), v(3), v(3);
  place(2), b(2), v(0), v(9), b(1), v(3);
  place(3), b(1), v(0), v(5), text("empty"), b(3), b(2), v(0), v(3), v(0);
  place(4), b(1), v(0), v(6), text("scalar"), b(4), b(0), v(0);
  return tokens;
}

// The format page's example of an index, by hand, is what the writer writes.
TEST(Hostile, IndexIsAsTheFormatSays) {
  const auto sample = make_sample();
  EXPECT_EQ(with_index(sample, index_tokens(sample)), sample.bytes);
}

TEST(Hostile, IndexFieldsAreCheckedBehindTheirChecksum) {
  const auto sample = make_sample();
  const auto original = index_tokens(sample);
  const auto all = written(sample.parts);
  for (std::size_t at = 0; at < original.size(); ++at) {
    for (std::uint64_t value : hostile) {
      if (!original[at].is_varint) value &= 0xff;
      if (value == original[at].value) continue;
      SCOPED_TRACE(testing::Message() << "token " << at << " = " << value);
      auto tokens = original;
      tokens[at].value = value;
      const Bytes bytes = with_index(sample, tokens);
      EXPECT_FALSE(is_taken(bytes));
      if (const auto reader = open_bytes(bytes)) {
        for (const auto& [part, payload] : readable(*reader)) {
          ASSERT_TRUE(all.contains(part));
          EXPECT_EQ(payload, all.at(part));
        }
      }
    }
  }
  for (std::size_t size = 0; size < original.size(); ++size) {
    const std::vector<Token> cut(original.begin(), original.begin() + static_cast<long>(size));
    const Bytes bytes = with_index(sample, cut);
    const auto reader = open_bytes(bytes).value();
    EXPECT_FALSE(reader.complete());
    EXPECT_EQ(readable(reader), all);
  }
}

// An index that keeps quiet about the last record would hide a tensor.
TEST(Hostile, IndexThatLeavesARecordOutIsRefused) {
  const auto sample = make_sample();
  auto tokens = index_tokens(sample);
  ASSERT_EQ(tokens[7].value, 6u);  // behind one chain of 5 bytes: the count of records
  tokens[7].value = 5;
  tokens.resize(tokens.size() - 15);  // "scalar"
  const Bytes bytes = with_index(sample, tokens);
  const auto reader = open_bytes(bytes).value();
  EXPECT_FALSE(reader.complete());
  EXPECT_EQ(reader.damage().what, "index: the records do not reach the index");
  EXPECT_EQ(readable(reader), written(sample.parts));
}

TEST(Hostile, NothingStandsBehindTheFields) {
  const auto sample = make_sample();
  auto tokens = index_tokens(sample);
  tokens.push_back({false, 0});
  const Bytes longer = with_index(sample, tokens);
  EXPECT_EQ(open_bytes(longer).value().damage().what, "index: bytes behind the last entry");

  // A header with 64 zeros more than its padding, which keep the payload aligned.
  const std::size_t record = sample.parts[3].end;
  Bytes padded(sample.bytes.begin(), sample.bytes.begin() + static_cast<long>(sample.parts[4].end));
  const auto header_size = load<std::uint32_t>(padded.data() + record + 24);
  padded.insert(padded.begin() + static_cast<long>(record + header_size), 64, std::byte{});
  store(padded.data() + record + 24, header_size + 64);
  mend_header(padded, record);
  const auto reader = open_bytes(padded).value();
  EXPECT_EQ(reader.records_end(), record);
  EXPECT_EQ(reader.damage().code, ErrorCode::bad_header);
}

// Names that share their fronts can be far larger than the index that lists them.
TEST(Hostile, IndexThatUnfoldsToMuchIsRefused) {
  SampleArchive sample;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(sample.bytes));
  const TensorDesc desc{DType::u8, Shape{0}};
  const std::string front(60000, 'x');
  for (int i = 0; i < 100; ++i) {
    sample.parts.push_back(append_noise(writer, front + std::to_string(i), desc, 0, desc.shape));
  }
  writer.finish();
  const auto index_size = sample.bytes.size() - sample.parts.back().end;
  EXPECT_LT(index_size, 100'000u);
  EXPECT_TRUE(open_bytes(sample.bytes));
  const auto reader = open_bytes(sample.bytes, {.max_memory = 1'000'000});
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::limit_exceeded);
}

// An index of few bytes must not make a reader hold names that no record has room for.
TEST(Hostile, IndexWithNamesThatTheRecordsCannotHoldIsRefused) {
  const auto sample = make_sample();
  auto tokens = index_tokens(sample);
  // "matrix", the first name that shares nothing: see where its size stands, and make it longer.
  std::size_t at = 0;
  while (!(tokens[at].is_varint && tokens[at].value == 6 && !tokens[at + 1].is_varint &&
           tokens[at + 1].value == 'm')) {
    ++at;
  }
  tokens[at].value = 6 + 64;
  tokens.insert(tokens.begin() + static_cast<long>(at) + 1, 64, Token{false, 'm'});
  const Bytes bytes = with_index(sample, tokens);
  const auto reader = open_bytes(bytes).value();
  EXPECT_FALSE(reader.complete());
  EXPECT_TRUE(reader.damage().what.starts_with("index: size of record")) << reader.damage().what;
  EXPECT_EQ(readable(reader), written(sample.parts));
}

TEST(Hostile, VersionsOutOfRangeAreRefused) {
  auto bytes = make_sample().bytes;
  for (const std::uint32_t version : {0u, max_archive_version + 1, 0x80000000u, 0xffffffffu}) {
    store(bytes.data() + 8, version);
    const auto reader = open_bytes(bytes);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::bad_version);
  }
}

}  // namespace
}  // namespace offramp::test
