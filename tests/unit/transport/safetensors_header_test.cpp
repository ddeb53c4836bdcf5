// SPDX-License-Identifier: Apache-2.0
#include "transport/safetensors/safetensors_header.hpp"

#include "file_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace offramp {
namespace {

using testing::HasSubstr;

Result<SafetensorsHeader> parse(std::string_view json, std::uint64_t data_size) {
  return parse_safetensors_header(bytes_of(json),
                                  safetensors_prefix_size + json.size() + data_size);
}

Error error_of(std::string_view json, std::uint64_t data_size) {
  const auto header = parse(json, data_size);
  return header ? Error{} : header.error();
}

Error size_error(std::uint64_t stated, std::uint64_t file_size) {
  std::array<std::byte, 8> front{};
  std::memcpy(front.data(), &stated, sizeof stated);
  const auto size = read_safetensors_header_size(
      std::span(front).first(std::min<std::uint64_t>(file_size, front.size())), file_size);
  return size ? Error{} : size.error();
}

TEST(SafetensorsHeader, reads_tensors_in_the_order_of_their_data) {
  const auto header = parse(R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]},)"
                            R"("__metadata__":{"z":"1","a":"2"},)"
                            R"("a":{"data_offsets":[0,8],"shape":[2,1],"dtype":"F32"},)"
                            R"("empty":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}} )",
                            12)
                          .value();
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0], (TensorInfo{"a", {DType::fp32, {2, 1}}}));
  EXPECT_EQ(header.tensors[1], (TensorInfo{"empty", {DType::fp32, {0}}}));
  EXPECT_EQ(header.tensors[2], (TensorInfo{"b", {DType::u8, {4}}}));
  EXPECT_EQ(header.offsets[2], header.offsets[0] + 8);
  EXPECT_EQ(header.metadata, (Metadata{{"z", "1"}, {"a", "2"}}));
}

TEST(SafetensorsHeader, stated_sizes_are_checked_before_memory_is_asked_for) {
  EXPECT_EQ(size_error(0, 7).code, ErrorCode::truncated);
  EXPECT_EQ(size_error(0, 0).code, ErrorCode::truncated);
  EXPECT_EQ(size_error(3, 10).code, ErrorCode::truncated);
  EXPECT_EQ(size_error(1u << 31, 1000).code, ErrorCode::limit_exceeded);
  EXPECT_EQ(size_error(std::uint64_t{1} << 63, 1000).code, ErrorCode::limit_exceeded);
  EXPECT_EQ(size_error(UINT64_MAX, 1000).code, ErrorCode::limit_exceeded);
  EXPECT_EQ(size_error(100'000'001, 200'000'000).code, ErrorCode::limit_exceeded);
  EXPECT_EQ(size_error(100'000'000, 200'000'000).code, ErrorCode{});
  EXPECT_EQ(size_error(2, 10).code, ErrorCode{});
}

struct Refused {
  const char* what;
  std::string json;
  std::uint64_t data_size;
  ErrorCode code;
  const char* says;
};

std::string entry(std::string_view fields) { return "{\"t\":{" + std::string(fields) + "}}"; }

TEST(SafetensorsHeader, refuses_each_bad_header_by_name) {
  const std::string u8 = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  const std::string deep(100'000, '[');
  std::string axes = "1";
  for (int i = 0; i < 16; ++i) axes += ",1";
  const std::vector<Refused> all{
      {"empty", "", 0, ErrorCode::bad_header, "'{'"},
      {"no object", "[]", 0, ErrorCode::bad_header, "'{'"},
      {"space in front", " {}", 0, ErrorCode::bad_header, "'{'"},
      {"cut", R"({"t":{"dtype":)", 0, ErrorCode::bad_header, "not JSON"},
      {"text behind", "{}{}", 0, ErrorCode::bad_header, "not JSON"},
      {"not UTF-8", "{\"\xff\":{}}", 0, ErrorCode::bad_header, "not JSON in UTF-8"},
      {"nested objects", R"({"t":{"dtype":{"a":{)", 0, ErrorCode::bad_header, "dtype"},
      {"nested arrays", R"({"t":)" + deep, 0, ErrorCode::bad_header, "an array"},
      {"nested in a shape", R"({"t":{"shape":[[)", 0, ErrorCode::bad_header, "shape"},
      {"entry is a number", R"({"t":3})", 0, ErrorCode::bad_header, "'t'"},
      {"entry is null", R"({"t":null})", 0, ErrorCode::bad_header, "null"},
      {"entry is empty", R"({"t":{}})", 0, ErrorCode::bad_header, "no dtype"},
      {"no shape", entry(R"("dtype":"U8","data_offsets":[0,4])"), 4, ErrorCode::bad_header,
       "no shape"},
      {"no offsets", entry(R"("dtype":"U8","shape":[4])"), 4, ErrorCode::bad_header,
       "no data_offsets"},
      {"unknown key", entry(u8 + R"(,"stride":[1])"), 4, ErrorCode::bad_header, "'stride'"},
      {"key twice", entry(u8 + R"(,"dtype":"I8")"), 4, ErrorCode::duplicate, "dtype"},
      {"unknown dtype", entry(R"("dtype":"F4","shape":[4],"data_offsets":[0,2])"), 2,
       ErrorCode::unknown_dtype, "'F4'"},
      {"dtype in lower case", entry(R"("dtype":"u8","shape":[4],"data_offsets":[0,4])"), 4,
       ErrorCode::unknown_dtype, "'u8'"},
      {"dtype is a number", entry(R"("dtype":7)"), 4, ErrorCode::bad_header, "a number"},
      {"dtype is an array", entry(R"("dtype":["U8"])"), 4, ErrorCode::bad_header, "an array"},
      {"shape is a string", entry(R"("shape":"4")"), 4, ErrorCode::bad_header, "a string"},
      {"negative extent", entry(R"("shape":[-4])"), 4, ErrorCode::bad_header, "negative"},
      {"fraction", entry(R"("shape":[4.0])"), 4, ErrorCode::bad_header, "64-bit integer"},
      {"beyond 64 bits", entry(R"("shape":[18446744073709551616])"), 4, ErrorCode::bad_header,
       "64-bit integer"},
      {"17 axes", entry(R"("dtype":"U8","data_offsets":[0,1],"shape":[)" + axes + "]"), 1,
       ErrorCode::unsupported, "more than 16 axes"},
      {"product beyond 64 bits",
       entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
       ErrorCode::bad_header, "has 0 bytes"},
      {"size 2^63", entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,9223372036854775808])"), 4,
       ErrorCode::truncated, "of 4 bytes"},
      {"one offset", entry(R"("dtype":"U8","shape":[4],"data_offsets":[4])"), 4,
       ErrorCode::bad_header, "not two numbers"},
      {"three offsets", entry(R"("dtype":"U8","shape":[4],"data_offsets":[0,4,8])"), 4,
       ErrorCode::bad_header, "more than two numbers"},
      {"offsets backwards", entry(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])"), 4,
       ErrorCode::bad_header, "bytes 4 to 0"},
      {"beyond the file", entry(u8), 3, ErrorCode::truncated, "of 3 bytes"},
      {"size of another shape", entry(R"("dtype":"U16","shape":[4],"data_offsets":[0,4])"), 4,
       ErrorCode::bad_header, "shape [4] has 4 bytes"},
      {"bytes behind", entry(u8), 5, ErrorCode::bad_header, "1 bytes of the data"},
      {"nothing but bytes", "{}", 5, ErrorCode::bad_header, "5 bytes of the data"},
      {"gap in front", entry(R"("dtype":"U8","shape":[4],"data_offsets":[1,5])"), 5,
       ErrorCode::bad_header, "gap"},
      {"overlap",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6, ErrorCode::bad_header, "inside a tensor"},
      {"the same place",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       4, ErrorCode::bad_header, "inside a tensor"},
      {"name twice",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
       6, ErrorCode::duplicate, "tensor 'a'"},
      {"name twice, once escaped",
       R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("\u0061":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
       6, ErrorCode::duplicate, "tensor 'a'"},
      {"metadata is a string", R"({"__metadata__":"x"})", 0, ErrorCode::bad_header, "a string"},
      {"metadata holds a number", R"({"__metadata__":{"a":1}})", 0, ErrorCode::bad_header,
       "__metadata__ holds a number"},
      {"metadata holds an object", R"({"__metadata__":{"a":{}}})", 0, ErrorCode::bad_header,
       "__metadata__ holds an object"},
      {"metadata key twice", R"({"__metadata__":{"a":"1","a":"2"}})", 0, ErrorCode::duplicate,
       "metadata key 'a'"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, ErrorCode::duplicate,
       "__metadata__"},
  };
  for (const Refused& each : all) {
    const Error error = error_of(each.json, each.data_size);
    EXPECT_EQ(error.code, each.code) << each.what << ": " << error.message();
    EXPECT_THAT(error.what, HasSubstr(each.says)) << each.what;
  }
}

TEST(SafetensorsHeader, takes_any_name_that_is_text) {
  const std::vector<std::string> names{"",
                                       "../../etc/passwd",
                                       "/abs",
                                       "a/b",
                                       std::string("nul\0nul", 7),
                                       "new\nline",
                                       std::string(10'000, 'n'),
                                       "\u00e9\u4e2d\U0001F600",
                                       "\"\\\x01\x7f"};
  std::vector<TensorInfo> tensors;
  for (const auto& name : names) tensors.push_back({name, {DType::u8, {1}}});
  const std::string front = make_safetensors_header(tensors, {{"k", "v"}});
  EXPECT_EQ(front.size() % 8, 0u);
  const auto header =
      parse(std::string_view(front).substr(safetensors_prefix_size), names.size()).value();
  EXPECT_EQ(header.tensors, tensors);
  EXPECT_EQ(header.metadata, (Metadata{{"k", "v"}}));
  EXPECT_EQ(header.offsets[1], front.size() + 1);
}

TEST(SafetensorsHeader, every_prefix_of_a_header_is_refused) {
  const std::vector<TensorInfo> tensors{{"a", {DType::bf16, {2, 3}}}, {"b", {DType::u8, {}}}};
  const std::string front = make_safetensors_header(tensors, {{"key", "value"}});
  std::string json = front.substr(safetensors_prefix_size);
  json.erase(json.find_last_not_of(' ') + 1);
  ASSERT_TRUE(parse(json, 13));
  for (std::size_t size = 0; size < json.size(); ++size) {
    EXPECT_FALSE(parse(std::string_view(json).substr(0, size), 13)) << size;
  }
}

TEST(SafetensorsHeader, names_every_dtype) {
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
    const DType dtype = *dtype_from_id(id);
    EXPECT_EQ(dtype_from_safetensors(safetensors_name_of(dtype)), dtype) << name_of(dtype);
  }
}

}  // namespace
}  // namespace offramp
