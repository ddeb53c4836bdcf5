// SPDX-License-Identifier: Apache-2.0
#include "transport/transport_table.hpp"

#include "contract/tensor_set.hpp"
#include "file_bytes.hpp"

#include <offramp/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace offramp {
namespace {

using testing::HasSubstr;

TensorSet one_tensor() {
  TensorSet set;
  set.add("t", DType::fp32, {2, 3});
  return set;
}

TEST(TransportTable, numbers_and_names_are_distinct_and_ascending) {
  std::set<std::string_view> names;
  int last = 0;
  for (const TransportRow& row : transport_table()) {
    EXPECT_GT(static_cast<int>(row.id), last);
    last = static_cast<int>(row.id);
    EXPECT_TRUE(names.insert(row.name).second);
    for (const auto extension : row.extensions) EXPECT_TRUE(names.insert(extension).second);
  }
}

TEST(TransportTable, the_path_chooses_the_format) {
  const ScratchFolder scratch;
  const TensorSet set = one_tensor();
  const SourceOptions as_raw{.format = {}, .dtype = DType::fp32, .shape = Shape{2, 3}};
  for (const std::string path :
       {"t.safetensors", "t.SafeTensors", "t.npy", "t.bin", "t.raw", "folder/", "plain", "v1.5/"}) {
    set.write_to(*make_sink(scratch / path).value());
    const bool raw = path == "t.bin" || path == "t.raw";
    const auto source = open_source(scratch / path, raw ? as_raw : SourceOptions{}).value();
    EXPECT_EQ(source->tensors()[0], set.infos[0]) << path;
    EXPECT_EQ(read_whole(*source, 0), set.bytes[0]) << path;
  }
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "plain"));
  EXPECT_EQ(file_bytes(scratch / "t.raw").size(), 24u);
}

TEST(TransportTable, a_stated_format_wins) {
  const ScratchFolder scratch;
  one_tensor().write_to(
      *make_sink(scratch / "model.weights", {.format = "safetensors", .overwrite = false}).value());
  EXPECT_FALSE(open_source(scratch / "model.weights"));
  EXPECT_TRUE(
      open_source(scratch / "model.weights", {.format = "safetensors", .dtype = {}, .shape = {}}));
}

TEST(TransportTable, an_unknown_format_names_the_known_ones) {
  const ScratchFolder scratch;
  write_file(scratch / "a.gguf", "GGUF");
  const Error source = open_source(scratch / "a.gguf").error();
  EXPECT_EQ(source.code, ErrorCode::unsupported);
  EXPECT_THAT(source.message(), HasSubstr("a.gguf: the extension '.gguf' is unknown; offramp knows "
                                          ".safetensors, .npy, .bin, .raw and folders"));
  EXPECT_EQ(make_sink(scratch / "a.gguf").error().code, ErrorCode::unsupported);
  write_file(scratch / "file", "no extension");
  EXPECT_EQ(open_source(scratch / "file").error().code, ErrorCode::unsupported);
  const SinkOptions pickle{.format = "pickle", .overwrite = false};
  EXPECT_THAT(make_sink(scratch / "a", pickle).error().what, HasSubstr("no format 'pickle'"));
}

TEST(TransportTable, a_raw_file_must_be_described_and_fit) {
  const ScratchFolder scratch;
  write_file(scratch / "a.raw", std::string(24, 'r'));
  const auto open = [&](std::optional<DType> dtype, std::optional<Shape> shape) {
    return open_source(scratch / "a.raw", {.format = {}, .dtype = dtype, .shape = shape});
  };
  EXPECT_EQ(open({}, {}).error().code, ErrorCode::unknown_dtype);
  EXPECT_EQ(open({}, Shape{24}).error().code, ErrorCode::unknown_dtype);
  EXPECT_EQ(open(DType::fp32, {}).value()->tensors()[0], (TensorInfo{"a", {DType::fp32, {6}}}));
  EXPECT_EQ(open(DType::bf16, Shape{3, 4}).value()->tensors()[0].desc.shape, (Shape{3, 4}));
  const Error error = open(DType::bf16, Shape{3, 5}).error();
  EXPECT_EQ(error.code, ErrorCode::mismatch);
  EXPECT_THAT(error.what, HasSubstr("shape [3, 5] make 30 bytes, the file has 24"));
  EXPECT_EQ(open(DType::u8, Shape{1ull << 32, 1ull << 32}).error().code, ErrorCode::mismatch);
  write_file(scratch / "a.raw", std::string(23, 'r'));
  EXPECT_EQ(open(DType::fp32, {}).error().code, ErrorCode::mismatch);

  one_tensor().write_to(*make_sink(scratch / "t.npy").value());
  EXPECT_EQ(open_source(scratch / "t.npy", {.format = {}, .dtype = DType::fp32, .shape = {}})
                .error()
                .code,
            ErrorCode::unsupported);
}

TEST(TransportTable, a_file_is_named_with_its_escapes_undone) {
  const ScratchFolder scratch;
  one_tensor().write_to(*make_sink(scratch / "a%2Fb.npy").value());
  EXPECT_EQ(open_source(scratch / "a%2Fb.npy").value()->tensors()[0].name, "a/b");
  one_tensor().write_to(*make_sink(scratch / "50%.npy").value());
  EXPECT_EQ(open_source(scratch / "50%.npy").value()->tensors()[0].name, "50%");
  one_tensor().write_to(*make_sink(scratch / "%FF.npy").value());
  EXPECT_EQ(open_source(scratch / "%FF.npy").value()->tensors()[0].name, "%FF");
  one_tensor().write_to(*make_sink(scratch / "\xff.npy").value());
  EXPECT_EQ(open_source(scratch / "\xff.npy").error().code, ErrorCode::bad_name);
}

TEST(TransportTable, a_missing_or_unreadable_file_is_an_io_error) {
  const ScratchFolder scratch;
  for (const char* name : {"missing.safetensors", "missing.npy"}) {
    try {
      static_cast<void>(open_source(scratch / name));
      FAIL() << name;
    } catch (const IoError& error) {
      EXPECT_EQ(error.errno_value(), ENOENT);
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
  write_file(scratch / "locked.npy", "x");
  std::filesystem::permissions(scratch / "locked.npy", std::filesystem::perms::none);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read all files";
  EXPECT_THROW(static_cast<void>(open_source(scratch / "locked.npy")), IoError);
}

TEST(TransportTable, a_full_disk_is_an_io_error) {
  for (const char* format : {"safetensors", "npy", "raw"}) {
    TensorSet set;
    set.add("t", DType::u8, {1 << 20});
    const auto sink = make_sink("/dev/full", {.format = format, .overwrite = true}).value();
    try {
      set.write_to(*sink);
      FAIL() << format;
    } catch (const IoError& error) {
      EXPECT_EQ(error.errno_value(), ENOSPC);
      EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
    }
  }
}

TEST(Sources, an_empty_file_is_named_with_what_to_do) {
  const ScratchFolder scratch;
  for (const std::string name : {"t.safetensors", "t.npy"}) {
    write_file(scratch / name, "");
    const auto source = open_source(scratch / name);
    ASSERT_FALSE(source) << name;
    EXPECT_EQ(source.error().code, ErrorCode::truncated);
    EXPECT_EQ(source.error().message(),
              scratch / name +
                  ": the file is empty; copy or download it again; the disk may have "
                  "been full");
  }
  write_file(scratch / "t.raw", "");  // no values are fine
  EXPECT_TRUE(
      open_source(scratch / "t.raw", {.format = {}, .dtype = DType::fp32, .shape = Shape{0}}));
}

// Reads one value, lets `change` do something to the file, and reads another.
template <class Change>
void expect_noticed(const std::string& path, Change change) {
  one_tensor().write_to(*make_sink(path, {.format = {}, .overwrite = true}).value());
  const auto before = std::filesystem::last_write_time(path);
  SourceOptions options;
  if (path.ends_with(".raw")) options.dtype = DType::fp32;
  const auto source = open_source(path, options).value();
  std::vector<std::byte> value(4);
  source->read(0, 0, value);
  change(before);
  try {
    source->read(0, 5, value);
    FAIL() << path;
  } catch (const MachineError& error) {
    EXPECT_EQ(error.error().code, ErrorCode::io);
    EXPECT_THAT(error.what(),
                HasSubstr(path + ": the file was written to while it was read; start again"));
  }
}

TEST(Sources, a_file_that_is_written_to_meanwhile_is_noticed) {
  const ScratchFolder scratch;
  namespace fs = std::filesystem;
  for (const std::string name : {"t.safetensors", "t.npy", "t.raw"}) {
    const std::string path = scratch / name;
    expect_noticed(path, [&](fs::file_time_type before) {  // in place, as large as before
      fs::last_write_time(path, before + std::chrono::nanoseconds(1));
    });
    expect_noticed(path, [&](fs::file_time_type before) {
      fs::resize_file(path, fs::file_size(path) + 1);
      fs::last_write_time(path, before);
    });
    expect_noticed(path, [&](fs::file_time_type before) {
      fs::resize_file(path, fs::file_size(path) - 1);
      fs::last_write_time(path, before);
    });
  }
}

}  // namespace
}  // namespace offramp
