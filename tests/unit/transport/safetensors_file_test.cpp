// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_set.hpp"
#include "file_bytes.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/transport.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace offramp {
namespace {

const std::string fixtures = OFFRAMP_FIXTURES_DIR;
const std::string data = OFFRAMP_DATA_DIR;

std::string rewritten(const std::string& from, const std::string& to) {
  const auto source = open_source(from).value();
  const auto sink = make_sink(to, {.format = {}, .overwrite = true}).value();
  sink->begin(source->tensors(), source->metadata());
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    sink->write(i, 0, read_whole(*source, i));
  }
  sink->finish();
  return file_bytes(to);
}

TEST(SafetensorsFile, gives_the_reference_librarys_bytes_back) {
  const ScratchFolder scratch;
  for (const std::string& file :
       {fixtures + "/reference.safetensors", fixtures + "/nothing.safetensors",
        data + "/kv_docs.safetensors", data + "/kv_code.safetensors",
        data + "/hidden_docs.safetensors", data + "/grad_docs.safetensors"}) {
    EXPECT_TRUE(rewritten(file, scratch / "copy.safetensors") == file_bytes(file)) << file;
  }
}

TEST(SafetensorsFile, reads_what_the_reference_library_wrote) {
  const auto source = open_source(fixtures + "/reference.safetensors").value();
  EXPECT_EQ(source->tensors().size(), std::size_t{max_dtype} + 3);
  EXPECT_EQ(source->metadata(), (Metadata{{"key \"1\"", "value \n \u20ac \x1f"}}));
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    // The fixture's values: byte i of n is 7 i + n.
    const auto bytes = read_whole(*source, i);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      ASSERT_EQ(bytes[at], static_cast<std::byte>(at * 7 + bytes.size()));
    }
  }
}

TEST(SafetensorsFile, a_cut_file_is_refused_wherever_it_is_cut) {
  const ScratchFolder scratch;
  const std::string whole = file_bytes(fixtures + "/reference.safetensors");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(scratch / "cut.safetensors", std::string_view(whole).substr(0, size));
    const auto source = open_source(scratch / "cut.safetensors");
    ASSERT_FALSE(source) << size;
    EXPECT_EQ(source.error().path, scratch / "cut.safetensors");
  }
}

TEST(SafetensorsFile, a_flipped_byte_never_breaks_the_reader) {
  const ScratchFolder scratch;
  const std::string whole = file_bytes(fixtures + "/reference.safetensors");
  const std::size_t header = whole.size() - 301;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < header; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x15);
    write_file(scratch / "flip.safetensors", flipped);
    const auto source = open_source(scratch / "flip.safetensors");
    refused += !source;
    if (!source) continue;
    for (std::size_t i = 0; i < (*source)->tensors().size(); ++i) read_whole(**source, i);
  }
  // What is left changes a name or metadata, which the format cannot tell from what was meant.
  EXPECT_GT(refused, header / 2);
}

TEST(SafetensorsFile, a_header_of_100_mb_needs_no_more_memory_than_the_file_has) {
  const ScratchFolder scratch;
  std::string front(8, '\0');
  front[3] = 0x05;  // 83,886,080 bytes
  write_file(scratch / "claims.safetensors", front + "{}");
  const auto source = open_source(scratch / "claims.safetensors");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::truncated);
  EXPECT_THAT(source.error().message(), testing::HasSubstr("claims 83886080 bytes, 2 are left"));
}

TEST(SafetensorsFile, cannot_hold_a_tensor_named_like_its_metadata) {
  const ScratchFolder scratch;
  TensorSet set;
  set.add("__metadata__", DType::u8, {1});
  const auto sink = make_sink(scratch / "a.safetensors").value();
  EXPECT_EQ(data_error_of([&] { set.write_to(*sink); }).code, ErrorCode::bad_name);
  EXPECT_THAT(scratch.entries(), testing::IsEmpty());
}

}  // namespace
}  // namespace offramp
