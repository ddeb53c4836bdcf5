// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/file_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace offramp {
namespace {

std::vector<TensorInfo> tensors_named(const std::vector<std::string>& names) {
  std::vector<TensorInfo> tensors;
  for (const auto& name : names) tensors.push_back({name, {DType::fp32, {1}}});
  return tensors;
}

TEST(FileNames, plain_names_stay_and_all_others_are_escaped) {
  EXPECT_EQ(escape_name("layers.0.key"), "layers.0.key");
  EXPECT_EQ(escape_name("A_b-9.x"), "A_b-9.x");
  EXPECT_EQ(escape_name(""), "%");
  EXPECT_EQ(escape_name("."), "%2E");
  EXPECT_EQ(escape_name(".."), "%2E.");
  EXPECT_EQ(escape_name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
  EXPECT_EQ(escape_name("/abs"), "%2Fabs");
  EXPECT_EQ(escape_name("-rf"), "%2Drf");
  EXPECT_EQ(escape_name(std::string("a\0b", 3)), "a%00b");
  EXPECT_EQ(escape_name("a\nb"), "a%0Ab");
  EXPECT_EQ(escape_name("100%~"), "100%25%7E");
  EXPECT_EQ(escape_name("\u00e9"), "%C3%A9");
  EXPECT_EQ(escape_name("a\\b:c"), "a%5Cb%3Ac");
}

TEST(FileNames, any_name_comes_back_and_can_stand_in_a_folder) {
  std::mt19937 random(11);
  for (int round = 0; round < 5000; ++round) {
    std::string name(random() % 12, '\0');
    // Mostly bytes that matter to a path or to the escape.
    for (char& c : name) {
      c = random() % 3 ? std::string_view("./%~-\0AaFf02\n", 13)[random() % 13]
                       : static_cast<char>(random());
    }
    const std::string stem = escape_name(name);
    EXPECT_EQ(unescape_name(stem), name);
    EXPECT_EQ(stem.find_first_of(std::string("/\0\n~", 4)), std::string::npos);
    EXPECT_NE(stem.front(), '.');
    EXPECT_NE(stem.front(), '-');
  }
}

TEST(FileNames, stems_that_no_name_makes_are_no_escapes) {
  for (const char* stem :
       {"", "%4", "%zz", "%41", "%2e", "a%2Eb", ".hidden", "-x", "a b", "a~b", "%%", "a%"}) {
    EXPECT_EQ(unescape_name(stem), std::nullopt) << stem;
  }
}

TEST(FileNames, the_extension_says_who_has_the_dtype) {
  const std::vector<TensorInfo> tensors{
      {"a", {DType::fp16, {1}}}, {"b", {DType::bf16, {1}}}, {"c", {DType::fp8_e4m3, {1}}}};
  EXPECT_THAT(file_names_of(tensors, ""),
              testing::ElementsAre("a.npy", "b.safetensors", "c.safetensors"));
}

TEST(FileNames, long_and_taken_names_get_a_hash) {
  const std::string long_a = std::string(10'000, 'n') + "a";
  const std::string long_b = std::string(10'000, 'n') + "b";
  const std::string limit(max_file_stem_size, 'l');
  std::string slashes(10'000, '/');
  const auto files = file_names_of(
      tensors_named({"case", "Case", "CASE", long_a, long_b, limit, limit + "x", slashes}), "");
  std::set<std::string> folded;
  for (std::string file : files) {
    EXPECT_LE(file.size(), 255u);
    for (char& c : file) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_TRUE(folded.insert(file).second) << file << " also where case does not count";
  }
  EXPECT_EQ(files[0], "case.npy");
  EXPECT_THAT(files[1], testing::MatchesRegex("Case~[0-9a-f]{16}\\.npy"));
  EXPECT_THAT(files[3], testing::MatchesRegex("n{160}~[0-9a-f]{16}\\.npy"));
  EXPECT_NE(files[3], files[4]);
  EXPECT_EQ(files[5], limit + ".npy");
  EXPECT_THAT(files[6], testing::MatchesRegex("l{160}~[0-9a-f]{16}\\.npy"));
  // No escape is cut in two.
  EXPECT_THAT(files[7], testing::MatchesRegex("(%2F){53}~[0-9a-f]{16}\\.npy"));
}

}  // namespace
}  // namespace offramp
