// SPDX-License-Identifier: Apache-2.0
#include "container/record.hpp"
#include "core/hash.hpp"
#include "unit/container/sample_archive.hpp"

#include <offramp/container/verify_archive.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace offramp::test {
namespace {

const TensorDesc vector{DType::u8, Shape{10}};

// Records without the writer's checks, and without an index.
class Raw {
 public:
  Raw() { ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes)); }
  Raw& add(std::string_view name, const TensorDesc& tensor, std::uint64_t first,
           const Shape& part) {
    const auto payload = noise(TensorDesc{tensor.dtype, part}.size(), 1);
    const auto chain = store_chain();
    RecordHeader record{.offset = bytes.size(),
                        .payload_size = payload.size(),
                        .payload_checksum = xxh3_64(payload),
                        .raw_size = payload.size()};
    record.part = {
        .name = name, .tensor = tensor, .first_elem = first, .part = part, .chain = chain};
    Bytes header;
    write_record_header(record, header);
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return *this;
  }
  ErrorCode error() const {
    const auto reader = open_bytes(bytes);
    return reader ? ErrorCode{} : reader.error().code;
  }
  Bytes bytes{};
};

TEST(Parts, InAnyOrderAreSorted) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  append_noise(writer, "t", vector, 6, Shape{4});
  append_noise(writer, "u", vector, 0, Shape{10});
  append_noise(writer, "t", vector, 0, Shape{2});
  append_noise(writer, "t", vector, 2, Shape{2, 2});
  EXPECT_THROW(append_noise(writer, "t", vector, 3, Shape{1}), DataError);
  EXPECT_THROW(append_noise(writer, "t", vector, 5, Shape{2}), DataError);
  EXPECT_THROW(append_noise(writer, "u", vector, 9, Shape{1}), DataError);
  writer.finish();
  const auto reader = open_bytes(bytes).value();
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(verify_archive(reader).sound());
  ASSERT_EQ(reader.tensors().size(), 2u);
  const auto& parts = reader.tensors()[0].parts;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].first_elem, 0u);
  EXPECT_EQ(parts[1].first_elem, 2u);
  EXPECT_EQ(parts[2].first_elem, 6u);
}

// Every pair of ranges, in both orders, behind a part that makes the order odd.
TEST(Parts, ThatOverlapOutOfOrderAreFound) {
  const TensorDesc tensor{DType::u8, Shape{100}};
  for (std::uint64_t first = 0; first < 8; ++first) {
    for (std::uint64_t size = 1; size <= 8 - first; ++size) {
      Bytes bytes;
      ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
      append_noise(writer, "t", tensor, 50, Shape{10});
      append_noise(writer, "t", tensor, 5, Shape{1});
      append_noise(writer, "t", tensor, 2, Shape{2});
      const bool overlaps = (first < 4 && first + size > 2) || (first < 6 && first + size > 5);
      if (overlaps) {
        EXPECT_THROW(append_noise(writer, "t", tensor, first, Shape{size}), DataError);
      } else {
        append_noise(writer, "t", tensor, first, Shape{size});
        EXPECT_THROW(append_noise(writer, "t", tensor, first, Shape{size}), DataError);
      }
      EXPECT_THROW(append_noise(writer, "t", tensor, 59, Shape{2}), DataError);
      writer.finish();
      EXPECT_TRUE(open_bytes(bytes).value().complete());
    }
  }
}

// Recovery checks part by part; a file of many parts in odd order must not keep it for days.
TEST(Parts, OfManyInFallingOrderAreCopiedInNoTime) {
  constexpr std::uint64_t count = 100'000;  // with a walk over all others for each: 5 billion steps
  const TensorDesc tensor{DType::u8, Shape{count}};
  const Bytes payload(1);
  const auto chain = store_chain();
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t at = count; at-- > 0;) {
    writer.append(
        {.name = "t", .tensor = tensor, .first_elem = at, .part = Shape{1}, .chain = chain},
        payload);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  writer.finish();
  EXPECT_FALSE(open_bytes(bytes).value().tensors()[0].first_gap());
}

TEST(Parts, ThatAreMissingAreNamed) {
  using Range = ArchiveTensor::Range;
  const auto gap = [](std::vector<std::pair<int, std::uint64_t>> parts) {
    Bytes bytes;
    ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
    for (const auto& [first, size] : parts) append_noise(writer, "t", vector, first, Shape{size});
    writer.finish();
    const auto reader = open_bytes(bytes).value();
    EXPECT_TRUE(reader.complete());
    const auto found = reader.tensors()[0].first_gap();
    EXPECT_EQ(verify_archive(reader).sound(), !found);
    return found;
  };
  EXPECT_EQ(gap({{0, 5}, {5, 5}}), std::nullopt);
  EXPECT_EQ(gap({{1, 9}}), (Range{0, 1}));
  EXPECT_EQ(gap({{0, 9}}), (Range{9, 1}));
  EXPECT_EQ(gap({{0, 3}, {5, 5}}), (Range{3, 2}));
}

TEST(Parts, ThatContradictEachOtherAreRefused) {
  EXPECT_EQ(Raw().add("t", vector, 0, Shape{5}).add("t", vector, 5, Shape{5}).error(), ErrorCode{});
  EXPECT_EQ(Raw().add("t", vector, 5, Shape{5}).add("t", vector, 0, Shape{5}).error(), ErrorCode{});
  EXPECT_EQ(Raw().add("t", vector, 0, Shape{5}).add("t", vector, 4, Shape{5}).error(),
            ErrorCode::duplicate);
  EXPECT_EQ(Raw().add("t", vector, 4, Shape{5}).add("t", vector, 0, Shape{5}).error(),
            ErrorCode::duplicate);
  EXPECT_EQ(Raw().add("t", vector, 0, Shape{10}).add("t", vector, 0, Shape{10}).error(),
            ErrorCode::duplicate);
  const TensorDesc empty{DType::u8, Shape{0}};
  EXPECT_EQ(Raw().add("t", empty, 0, Shape{0}).error(), ErrorCode{});
  EXPECT_EQ(Raw().add("t", empty, 0, Shape{0}).add("t", empty, 0, Shape{0}).error(),
            ErrorCode::duplicate);
  const TensorDesc other_dtype{DType::i8, Shape{10}};
  const TensorDesc other_shape{DType::u8, Shape{2, 5}};
  for (const TensorDesc& other : {other_dtype, other_shape, empty}) {
    EXPECT_EQ(Raw().add("t", vector, 0, Shape{5}).add("t", other, 0, other.shape).error(),
              ErrorCode::mismatch);
  }
}

TEST(Parts, TheWriterRefusesWhatTheReaderWould) {
  Bytes bytes;
  ArchiveWriter writer(std::make_unique<MemoryByteSink>(bytes));
  append_noise(writer, "t", vector, 0, Shape{5});
  const auto code = [&](const TensorDesc& tensor, std::uint64_t first, const Shape& part) {
    try {
      append_noise(writer, "t", tensor, first, part);
    } catch (const DataError& error) {
      return error.error().code;
    }
    return ErrorCode{};
  };
  const auto size = writer.size();
  EXPECT_EQ(code(TensorDesc{DType::i8, Shape{10}}, 5, Shape{5}), ErrorCode::mismatch);
  EXPECT_EQ(code(vector, 0, Shape{5}), ErrorCode::duplicate);
  EXPECT_EQ(code(vector, 4, Shape{5}), ErrorCode::duplicate);
  EXPECT_EQ(writer.size(), size);
  EXPECT_EQ(code(vector, 5, Shape{5}), ErrorCode{});
}

}  // namespace
}  // namespace offramp::test
