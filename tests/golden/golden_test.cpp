// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_cases.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace offramp::test {
namespace {

const std::filesystem::path folder = OFFRAMP_GOLDEN_FOLDER;

// The kept files, not what today's writer makes: each must read as it did when it was kept.
TEST(Golden, EveryArchiveReadsAsItsManifestSays) {
  std::ifstream manifest(folder / "manifest.txt");
  std::set<std::string> listed{"manifest.txt"};
  std::string file;
  std::string verdict;
  while (manifest >> file && std::getline(manifest >> std::ws, verdict)) {
    EXPECT_EQ(golden_verdict(ArchiveReader::open(folder / file)), verdict) << file;
    listed.insert(file);
  }
  EXPECT_GE(listed.size(), 28u);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(listed.contains(entry.path().filename())) << entry.path() << " is not listed";
  }
}

// The writer, pinned to version 1, still makes version 1 as it did.
TEST(Golden, TheWriterMakesTheSameBytes) {
  for (const auto& golden : golden_cases()) {
    std::ifstream in(folder / golden.file, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(in), {}};
    ASSERT_EQ(kept.size(), golden.bytes.size()) << golden.file;
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), golden.bytes.begin(), [](char a, std::byte b) {
      return static_cast<std::byte>(a) == b;
    })) << golden.file;
  }
}

}  // namespace
}  // namespace offramp::test
