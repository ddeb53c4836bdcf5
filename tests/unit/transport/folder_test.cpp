// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_set.hpp"
#include "file_bytes.hpp"
#include "transport/folder/manifest.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/transport.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>

namespace offramp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

void write_folder(const std::string& path, const TensorSet& set, bool overwrite = false) {
  set.write_to(*make_sink(path, {.format = "folder", .overwrite = overwrite}).value());
}

TensorSet small_set() {
  TensorSet set;
  set.add("layers.0.key", DType::bf16, {2, 3});
  set.add("a/b", DType::fp32, {2});
  set.metadata = {{"origin", "test"}};
  return set;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(Folder, hostile_names_never_leave_it) {
  const ScratchFolder scratch;
  TensorSet set;
  for (const std::string& name :
       {std::string("../escape"), std::string("/tmp/escape"), std::string("."), std::string(".."),
        std::string(), std::string("a/../../b"), std::string("nul\0nul", 7),
        std::string("new\nline"), std::string(10'000, 'x'), std::string(10'000, '/'),
        std::string("offramp.json"), std::string("offramp"), std::string("a"), std::string("A"),
        std::string("a%2Fb"), std::string("a/b"), std::string("-rf *")}) {
    set.add(name, set.infos.size() % 2 ? DType::bf16 : DType::fp32, {3});
  }
  write_folder(scratch / "out", set);
  EXPECT_THAT(scratch.entries(), UnorderedElementsAre("out"));
  EXPECT_EQ(files_in(scratch / "out").size(), set.infos.size() + 1);
  for (const auto& entry : fs::directory_iterator(scratch / "out")) {
    EXPECT_TRUE(entry.is_regular_file()) << entry.path();
  }
  const auto source = open_source(scratch / "out").value();
  for (std::size_t i = 0; i < set.infos.size(); ++i) {
    EXPECT_EQ(source->tensors()[i], set.infos[i]);
    EXPECT_EQ(read_whole(*source, i), set.bytes[i]);
  }
}

TEST(Folder, its_list_is_plain_json) {
  const ScratchFolder scratch;
  write_folder(scratch / "out", small_set());
  const auto json = nlohmann::json::parse(file_bytes(scratch / "out/offramp.json"));
  EXPECT_EQ(json["offramp_folder"], 1);
  EXPECT_EQ(json["tensors"][1]["name"], "a/b");
  EXPECT_EQ(json["tensors"][1]["file"], "a%2Fb.npy");
  EXPECT_EQ(json["tensors"][0]["dtype"], "bf16");
  EXPECT_EQ(json["tensors"][0]["shape"], (std::vector<int>{2, 3}));
  EXPECT_EQ(json["metadata"][0][1], "test");
}

TEST(Folder, without_its_list_the_names_still_come_back) {
  const ScratchFolder scratch;
  const TensorSet set = small_set();
  write_folder(scratch / "out", set);
  fs::remove(scratch / "out/offramp.json");
  write_file(scratch / "out/config.json", "{}");
  const auto source = open_source(scratch / "out").value();
  ASSERT_EQ(source->tensors().size(), 2u);
  EXPECT_EQ(source->tensors()[0], set.infos[1]);  // by file name
  EXPECT_EQ(source->tensors()[1], set.infos[0]);
  EXPECT_EQ(read_whole(*source, 0), set.bytes[1]);
}

TEST(Folder, shards_of_one_model_are_read_as_one) {
  const ScratchFolder scratch;
  fs::create_directory(scratch / "model");
  TensorSet first;
  first.add("a", DType::bf16, {2});
  first.metadata = {{"format", "pt"}, {"part", "first"}};
  TensorSet second;
  second.add("b", DType::bf16, {5});
  second.metadata = {{"format", "pt"}};
  first.write_to(*make_sink(scratch / "model/1.safetensors").value());
  second.write_to(*make_sink(scratch / "blob.safetensors").value());
  fs::create_symlink("../blob.safetensors", scratch / "model/2.safetensors");

  const auto source = open_source(scratch / "model/").value();
  ASSERT_EQ(source->tensors().size(), 2u);
  EXPECT_EQ(read_whole(*source, 1), second.bytes[0]);
  EXPECT_EQ(source->metadata(), (Metadata{{"format", "pt"}, {"part", "first"}}));

  second.metadata = {{"format", "np"}};
  second.write_to(*make_sink(scratch / "model/3.safetensors").value());
  EXPECT_EQ(open_source(scratch / "model").error().code, ErrorCode::duplicate);
}

TEST(Folder, metadata_that_differs_is_kept_for_each_file) {
  const ScratchFolder scratch;
  fs::create_directory(scratch / "model");
  const std::vector<Metadata> notes{
      {{"format", "pt"}, {"text", "one"}}, {{"format", "pt"}, {"text", "two"}}, {{"other", "x"}}};
  for (std::size_t file = 0; file < notes.size(); ++file) {
    TensorSet set;
    set.add(std::string(1, static_cast<char>('a' + file)), DType::bf16, {2});
    set.metadata = notes[file];
    set.write_to(*make_sink(scratch / "model/" + std::to_string(file) + ".safetensors").value());
  }
  const Metadata merged{{"format", "pt"},
                        {"0.safetensors:text", "one"},
                        {"1.safetensors:text", "two"},
                        {"other", "x"}};
  const auto source = open_source(scratch / "model").value();
  EXPECT_EQ(source->metadata(), merged);
  // It stays as it is when it goes through a folder of our own.
  const auto sink = make_sink(scratch / "again/").value();
  sink->begin(source->tensors(), source->metadata());
  for (std::size_t tensor = 0; tensor < 3; ++tensor) {
    sink->write(tensor, 0, read_whole(*source, tensor));
  }
  sink->finish();
  EXPECT_EQ(open_source(scratch / "again").value()->metadata(), merged);
}

TEST(Folder, more_files_than_are_kept_open_are_read_and_changes_are_seen) {
  const ScratchFolder scratch;
  TensorSet set;
  for (int i = 0; i < 300; ++i) set.add("t" + std::to_string(i), DType::u8, {4});
  write_folder(scratch / "out", set);
  const auto source = open_source(scratch / "out").value();
  for (std::size_t i = 0; i < set.infos.size(); ++i) {
    ASSERT_EQ(read_whole(*source, i), set.bytes[i]) << i;
  }
  TensorSet other;
  other.add("t299", DType::u8, {5});
  other.write_to(*make_sink(scratch / "out/t299.npy", {.format = {}, .overwrite = true}).value());
  try {
    read_whole(*source, 299);
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("t299.npy: the file was written to while the folder was"));
  }
}

TEST(Folder, a_list_that_lies_is_refused) {
  const ScratchFolder scratch;
  write_folder(scratch / "out", small_set());
  const auto good = nlohmann::ordered_json::parse(file_bytes(scratch / "out/offramp.json"));
  const auto error_with = [&](auto change) {
    auto json = good;
    change(json);
    write_file(scratch / "out/offramp.json", json.dump());
    const auto source = open_source(scratch / "out");
    return source ? Error{} : source.error();
  };
  write_file(scratch / "secret.npy", file_bytes(scratch / "out/a%2Fb.npy"));
  EXPECT_EQ(error_with([](auto&) {}).code, ErrorCode{});
  for (const std::string file : {"../secret.npy", "/etc/passwd", "..", "", "sub/x.npy",
                                 "offramp.json", "a%2Fb.npy/../a%2Fb.npy"}) {
    EXPECT_EQ(error_with([&](auto& j) { j["tensors"][1]["file"] = file; }).code,
              ErrorCode::bad_name)
        << file;
  }
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][1]["file"] = std::string("a\0.npy", 6); }).code,
            ErrorCode::bad_name);
  EXPECT_EQ(error_with([](auto& j) {
              j["tensors"][1]["shape"] = {1, 2};
            }).code,
            ErrorCode::mismatch);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][1]["dtype"] = "i32"; }).code,
            ErrorCode::mismatch);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][1]["dtype"] = "f4"; }).code,
            ErrorCode::unknown_dtype);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][0]["name"] = "other"; }).code,
            ErrorCode::mismatch);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][1]["name"] = "layers.0.key"; }).code,
            ErrorCode::duplicate);
  EXPECT_EQ(error_with([](auto& j) { j["offramp_folder"] = 2; }).code, ErrorCode::bad_version);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][0]["shape"] = {-1}; }).code,
            ErrorCode::bad_header);
  EXPECT_EQ(error_with([](auto& j) { j["tensors"][0]["shape"] = std::vector<int>(17, 1); }).code,
            ErrorCode::bad_header);
  EXPECT_EQ(error_with([](auto& j) { j["metadata"] = {{"one"}}; }).code, ErrorCode::bad_header);
  for (const char* key : {"offramp_folder", "metadata", "tensors"}) {
    EXPECT_EQ(error_with([&](auto& j) { j.erase(key); }).code, ErrorCode::bad_header) << key;
    EXPECT_EQ(error_with([&](auto& j) { j[key] = "text"; }).code, ErrorCode::bad_header) << key;
  }
  for (const char* key : {"name", "file", "dtype", "shape"}) {
    EXPECT_EQ(error_with([&](auto& j) { j["tensors"][0][key] = 7; }).code, ErrorCode::bad_header);
  }
  EXPECT_EQ(error_with([](auto& j) { j = std::vector<int>{1}; }).code, ErrorCode::bad_header);
}

TEST(Folder, a_list_that_nests_without_end_is_refused) {
  EXPECT_EQ(parse_manifest(bytes_of("{\"tensors\":" + std::string(1'000'000, '['))).error().code,
            ErrorCode::bad_header);
  EXPECT_EQ(parse_manifest(bytes_of("{\"offramp_folder\":1,\"metadata\":[],\"tensors\":[" +
                                    std::string(100'000, '[') + std::string(100'000, ']') + "]}"))
                .error()
                .code,
            ErrorCode::bad_header);
  EXPECT_EQ(parse_manifest({}).error().code, ErrorCode::bad_header);
}

TEST(Folder, a_missing_or_empty_folder_is_named) {
  const ScratchFolder scratch;
  fs::create_directory(scratch / "empty");
  EXPECT_EQ(open_source(scratch / "empty").error().code, ErrorCode::not_found);
  EXPECT_THROW(static_cast<void>(open_source(scratch / "missing/")), IoError);
  write_folder(scratch / "out", small_set());
  fs::remove(scratch / "out/a%2Fb.npy");
  EXPECT_THROW(static_cast<void>(open_source(scratch / "out")), IoError);
}

TEST(Folder, overwriting_never_removes_what_offramp_did_not_write) {
  const ScratchFolder scratch;
  write_folder(scratch / "out", small_set());
  write_file(scratch / "out/thesis.txt", "years of work");
  try {
    write_folder(scratch / "out", small_set(), true);
    FAIL() << "replaced a folder with a person's file";
  } catch (const IoError& error) {
    EXPECT_EQ(error.errno_value(), ENOTEMPTY);
    EXPECT_THAT(error.what(), HasSubstr("thesis.txt"));
  }
  EXPECT_EQ(file_bytes(scratch / "out/thesis.txt"), "years of work");
  EXPECT_THAT(scratch.entries(), UnorderedElementsAre("out"));

  fs::create_directories(scratch / "home/inner");
  EXPECT_THROW(write_folder(scratch / "home", small_set(), true), IoError);
  EXPECT_TRUE(fs::exists(scratch / "home/inner"));

  fs::create_directory(scratch / "empty");
  EXPECT_THROW(write_folder(scratch / "empty", small_set()), IoError);
  write_folder(scratch / "empty", small_set(), true);
  EXPECT_TRUE(open_source(scratch / "empty"));
}

TEST(Folder, a_link_to_a_folder_is_followed_and_kept) {
  const ScratchFolder scratch;
  write_folder(scratch / "real", small_set());
  fs::create_directory_symlink("real", scratch / "link");
  TensorSet other;
  other.add("other", DType::u8, {3});
  write_folder(scratch / "link/", other, true);
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(open_source(scratch / "real").value()->tensors()[0].name, "other");
  EXPECT_EQ(files_in(scratch / "real").size(), 2u);
  EXPECT_EQ(scratch.entries().size(), 2u);
}

TEST(Folder, a_file_in_its_place_is_kept) {
  const ScratchFolder scratch;
  write_file(scratch / "out", "a file");
  EXPECT_THROW(write_folder(scratch / "out", small_set()), IoError);
  EXPECT_THROW(write_folder(scratch / "out", small_set(), true), IoError);
  EXPECT_EQ(file_bytes(scratch / "out"), "a file");
  EXPECT_EQ(scratch.entries().size(), 1u);
}

TEST(Folder, a_target_that_appears_meanwhile_is_kept) {
  const ScratchFolder scratch;
  const TensorSet set = small_set();
  {
    const auto sink = make_sink(scratch / "out").value();
    sink->begin(set.infos, set.metadata);
    for (std::size_t i = 0; i < set.infos.size(); ++i) sink->write(i, 0, set.bytes[i]);
    fs::create_directory(scratch / "out");
    try {
      sink->finish();
      FAIL() << "replaced it";
    } catch (const IoError& error) {
      EXPECT_EQ(error.errno_value(), EEXIST);
    }
  }
  EXPECT_THAT(files_in(scratch / "out"), testing::IsEmpty());
  EXPECT_THAT(scratch.entries(), UnorderedElementsAre("out"));
}

// Beyond those files that are kept open, too.
TEST(Folder, a_file_that_is_written_to_meanwhile_is_noticed) {
  const ScratchFolder scratch;
  fs::create_directory(scratch / "in");
  TensorSet one;
  one.add("t", DType::fp32, {2});
  for (int i = 100; i < 400; ++i) {
    one.write_to(*make_sink(scratch / ("in/" + std::to_string(i) + ".npy")).value());
  }
  const auto source = open_source(scratch / "in").value();
  ASSERT_EQ(source->tensors().size(), 300u);
  std::vector<std::byte> values(8);
  for (const int tensor : {0, 299}) {
    const std::string path = scratch / ("in/" + std::to_string(100 + tensor) + ".npy");
    source->read(static_cast<std::size_t>(tensor), 0, values);
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
    try {
      source->read(static_cast<std::size_t>(tensor), 0, values);
      FAIL() << path;
    } catch (const MachineError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path + ": the file was written to"));
    }
  }
}

}  // namespace
}  // namespace offramp
