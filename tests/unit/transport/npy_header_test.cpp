// SPDX-License-Identifier: Apache-2.0
#include "transport/npy/npy_header.hpp"

#include "core/bytes.hpp"
#include "file_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace offramp {
namespace {

using testing::HasSubstr;

std::string npy(std::string_view dict, char major = 1, char minor = 0) {
  std::string file = "\x93NUMPY";
  file += major;
  file += minor;
  std::string size(major == 1 ? 2 : 4, '\0');
  if (major == 1) {
    store(size.data(), static_cast<std::uint16_t>(dict.size()));
  } else {
    store(size.data(), static_cast<std::uint32_t>(dict.size()));
  }
  return file + size + std::string(dict);
}

Result<NpyHeader> parse(std::string_view file, std::uint64_t data_size) {
  std::string padded(file);
  const std::uint64_t file_size = file.size() + data_size;
  padded.resize(std::min<std::uint64_t>(file_size, max_npy_header_size));
  return parse_npy_header(bytes_of(padded), file_size);
}

std::string dict(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

TEST(NpyHeader, reads_every_way_of_writing_it) {
  const TensorDesc wanted{DType::fp32, {2, 3}};
  for (const std::string& file :
       {npy(dict("'<f4'", "(2, 3)") + "  \n"), npy(dict("\"<f4\"", "(2,3,)")),
        npy("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}"),
        npy(" {\t'descr' : '<f4' , 'shape' : ( 2 , 3 ) , 'fortran_order' : False }\n", 2),
        npy(dict("'<f4'", "(2, 3)"), 3)}) {
    const auto header = parse(file, 24);
    ASSERT_TRUE(header) << header.error().message();
    EXPECT_EQ(header->desc, wanted);
    EXPECT_EQ(header->data, file.size());
  }
  EXPECT_EQ(parse(npy(dict("'|b1'", "()")), 1).value().desc, (TensorDesc{DType::boolean, {}}));
  EXPECT_EQ(parse(npy(dict("'<u1'", "(3,)")), 3).value().desc, (TensorDesc{DType::u8, {3}}));
  EXPECT_EQ(parse(npy(dict("'<f8'", "(0, 18446744073709551615)")), 0).value().desc,
            (TensorDesc{DType::fp64, {0, UINT64_MAX}}));
}

struct Refused {
  const char* what;
  std::string file;
  std::uint64_t data_size;
  ErrorCode code;
  const char* says;
};

TEST(NpyHeader, refuses_each_bad_or_foreign_file_by_name) {
  const std::string good = dict("'<f4'", "(2,)");
  const std::vector<Refused> all{
      {"empty", "", 0, ErrorCode::truncated, "inside its header"},
      {"magic cut", "\x93NUM", 0, ErrorCode::truncated, "inside its header"},
      {"other magic", "PK\x03\x04 and more", 0, ErrorCode::bad_magic, "no .npy file"},
      {"version 0", npy(good, 0), 8, ErrorCode::bad_version, "0.0"},
      {"version 4", npy(good, 4), 8, ErrorCode::bad_version, "4.0"},
      {"version 1.1", npy(good, 1, 1), 8, ErrorCode::bad_version, "1.1"},
      {"header cut", npy(good).substr(0, 30), 0, ErrorCode::truncated, "inside its header"},
      {"header of 2^31", "\x93NUMPY\x02" + std::string("\0\0\0\0\x80", 5), 100,
       ErrorCode::truncated, "inside its header"},
      {"header above the limit", npy(std::string(max_npy_header_size, ' '), 2), 8,
       ErrorCode::limit_exceeded, "at most 65536"},
      {"data cut", npy(good), 7, ErrorCode::truncated, "7 bytes left"},
      {"data behind", npy(good), 9, ErrorCode::bad_header, "1 bytes follow"},
      {"big-endian", npy(dict("'>f4'", "(2,)")), 8, ErrorCode::unsupported, "big-endian"},
      {"big-endian byte", npy(dict("'>u1'", "(2,)")), 2, ErrorCode::unsupported, "big-endian"},
      {"Fortran", npy(dict("'<f4'", "(2,)", "True")), 8, ErrorCode::unsupported, "Fortran"},
      {"object", npy(dict("'|O'", "(2,)")), 8, ErrorCode::unsupported, "Python objects"},
      {"object, 8 bytes", npy(dict("'O8'", "(2,)")), 8, ErrorCode::unsupported, "Python objects"},
      {"fields", npy(dict("[('a', '<f4'), ('b', '<i2')]", "(2,)")), 12, ErrorCode::unsupported,
       "structured"},
      {"array in a field", npy(dict("('<f4', (2,))", "(2,)")), 16, ErrorCode::unsupported,
       "structured"},
      {"complex", npy(dict("'<c8'", "(2,)")), 16, ErrorCode::unknown_dtype, "complex"},
      {"text", npy(dict("'<U3'", "(2,)")), 24, ErrorCode::unknown_dtype, "text"},
      {"time", npy(dict("'<M8[ns]'", "(2,)")), 16, ErrorCode::unknown_dtype, "a time"},
      {"bf16 as void", npy(dict("'|V2'", "(2,)")), 4, ErrorCode::unknown_dtype, "bfloat16"},
      {"long double", npy(dict("'<f16'", "(2,)")), 32, ErrorCode::unknown_dtype, "'<f16'"},
      {"no byte order", npy(dict("'f4'", "(2,)")), 8, ErrorCode::unknown_dtype, "'f4'"},
      {"no dtype", npy(dict("''", "(2,)")), 8, ErrorCode::unknown_dtype, "''"},
      {"17 axes", npy(dict("'|u1'", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)")), 1,
       ErrorCode::unsupported, "more than 16 axes"},
      {"extent beyond 64 bits", npy(dict("'|u1'", "(18446744073709551616,)")), 1,
       ErrorCode::bad_header, "64 bits"},
      {"size beyond 64 bits", npy(dict("'<f8'", "(2305843009213693952,)")), 1, ErrorCode::truncated,
       "does not fit"},
      {"product beyond 64 bits", npy(dict("'|u1'", "(4294967296, 4294967296)")), 1,
       ErrorCode::truncated, "does not fit"},
      {"negative extent", npy(dict("'|u1'", "(-1,)")), 1, ErrorCode::bad_header, "a number"},
      {"no tuple", npy(dict("'|u1'", "(1)")), 1, ErrorCode::bad_header, "a comma in the tuple"},
      {"list", npy(dict("'|u1'", "[1]")), 1, ErrorCode::bad_header, "a tuple"},
      {"comma alone", npy(dict("'|u1'", "(,)")), 1, ErrorCode::bad_header, "a number"},
      {"two numbers", npy(dict("'|u1'", "(1 1)")), 1, ErrorCode::bad_header, "a comma"},
      {"order no boolean", npy(dict("'|u1'", "(1,)", "0")), 1, ErrorCode::bad_header, "True"},
      {"key twice", npy("{'descr': '|u1', 'descr': '|i1'}"), 1, ErrorCode::duplicate, "'descr'"},
      {"key unknown", npy("{'descr': '|u1', 'x': 1}"), 1, ErrorCode::bad_header, "does not know"},
      {"key missing", npy("{'descr': '|u1', 'shape': (1,)}"), 1, ErrorCode::bad_header,
       "'fortran_order'"},
      {"text behind", npy(good + " x"), 8, ErrorCode::bad_header, "its end"},
      {"no end", npy(good.substr(0, good.size() - 1)), 8, ErrorCode::bad_header, "a string"},
      {"escape in a string", npy("{'desc\\x72': '|u1'}"), 1, ErrorCode::bad_header,
       "a plain string"},
      {"empty dictionary", npy(""), 8, ErrorCode::bad_header, "a dictionary"},
  };
  for (const Refused& each : all) {
    const auto header = parse(each.file, each.data_size);
    ASSERT_FALSE(header) << each.what;
    EXPECT_EQ(header.error().code, each.code) << each.what << ": " << header.error().message();
    EXPECT_THAT(header.error().what, HasSubstr(each.says)) << each.what;
  }
}

TEST(NpyHeader, what_is_written_is_read_back) {
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
    const DType dtype = *dtype_from_id(id);
    if (!npy_name_of(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 7}, Shape{12, 1, 3},
                               Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                               Shape{0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}}) {
      const TensorDesc desc{dtype, shape};
      const std::string front = make_npy_header(desc);
      EXPECT_EQ(front.size() % 64, 0u);
      EXPECT_EQ(parse(front, desc.size()).value().desc, desc);
    }
  }
}

}  // namespace
}  // namespace offramp
