// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_set.hpp"
#include "core/bytes.hpp"
#include "file_bytes.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/transport.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace offramp {
namespace {

const std::string fixtures = std::string(OFFRAMP_FIXTURES_DIR) + '/';

TEST(NpyFile, gives_the_bytes_of_numpy_back) {
  const ScratchFolder scratch;
  for (const std::string name : {"f2", "f4", "f8", "b1", "u1", "i1", "i2", "u2", "i4", "u4", "i8",
                                 "u8", "scalar", "empty", "deep", "full_unit"}) {
    const std::string file = fixtures + name + ".npy";
    const auto source = open_source(file).value();
    EXPECT_EQ(source->tensors()[0].name, name);
    const auto sink = make_sink(scratch / (name + ".npy")).value();
    sink->begin(source->tensors(), source->metadata());
    sink->write(0, 0, read_whole(*source, 0));
    sink->finish();
    EXPECT_EQ(file_bytes(scratch / (name + ".npy")), file_bytes(file)) << name;
  }
}

TEST(NpyFile, reads_all_versions_of_the_format) {
  for (const std::string name : {"version2", "version3"}) {
    const auto source = open_source(fixtures + name + ".npy").value();
    EXPECT_EQ(source->tensors()[0], (TensorInfo{name, {DType::fp32, {2, 3}}}));
    const auto bytes = read_whole(*source, 0);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(load<float>(bytes.data() + i * sizeof(float)), static_cast<float>(i));
    }
  }
}

TEST(NpyFile, says_why_it_refuses_what_numpy_wrote) {
  struct Refused {
    std::string name;
    ErrorCode code;
    const char* says;
  };
  const std::vector<Refused> all{
      {"fortran", ErrorCode::unsupported, "in Fortran order; save numpy.ascontiguousarray"},
      {"big_endian", ErrorCode::unsupported, "big-endian ('>f4'); save it with"},
      {"object", ErrorCode::unsupported, "Python objects; convert"},
      {"fields", ErrorCode::unsupported, "(structured); save each field"},
      {"complex", ErrorCode::unknown_dtype, "'<c8' is complex"},
      {"text", ErrorCode::unknown_dtype, "'<U2' is text"},
      {"time", ErrorCode::unknown_dtype, "'<M8[D]' is a time"},
      {"void", ErrorCode::unknown_dtype, "bfloat16 and float8; save the tensor as .safetensors"},
      {"deep", ErrorCode::unsupported, "more than 16 axes"}};
  for (const auto& [name, code, says] : all) {
    const std::string file = fixtures + "refuse_" + name + ".npy";
    const auto source = open_source(file);
    ASSERT_FALSE(source) << name;
    EXPECT_EQ(source.error().code, code) << name;
    EXPECT_THAT(source.error().message(), testing::StartsWith(file + ": "));
    EXPECT_THAT(source.error().message(), testing::HasSubstr(says));
  }
}

TEST(NpyFile, a_cut_file_is_refused_wherever_it_is_cut) {
  const ScratchFolder scratch;
  const std::string whole = file_bytes(fixtures + "f4.npy");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(scratch / "cut.npy", std::string_view(whole).substr(0, size));
    EXPECT_FALSE(open_source(scratch / "cut.npy")) << size;
  }
}

TEST(NpyFile, a_dtype_that_npy_lacks_is_refused_not_changed) {
  const ScratchFolder scratch;
  for (const DType dtype : {DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    TensorSet set;
    set.add("t", dtype, {4});
    const auto sink = make_sink(scratch / "t.npy").value();
    const Error error = data_error_of([&] { set.write_to(*sink); });
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_THAT(error.message(), testing::HasSubstr(".safetensors"));
  }
  EXPECT_THAT(scratch.entries(), testing::IsEmpty());
}

}  // namespace
}  // namespace offramp
