// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_cases.hpp"

#include <offramp/core/file.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>

// Writes the golden archives and their manifest: make_golden tests/golden/v1. Only for a version
// that is not frozen.
int main(int argc, char** argv) {
  using namespace offramp;
  if (argc != 2) {
    fmt::print(stderr, "usage: make_golden FOLDER\n");
    return 2;
  }
  try {
    const std::string folder = argv[1];
    std::string manifest;
    for (const auto& golden : test::golden_cases()) {
      OutputFile file(folder + "/" + golden.file, OutputFile::Existing::overwrite);
      file.append(golden.bytes);
      file.commit();
      const auto reader = ArchiveReader::open(std::make_unique<MemoryAccess>(golden.bytes));
      manifest += fmt::format("{} {}\n", golden.file, test::golden_verdict(reader));
    }
    OutputFile file(folder + "/manifest.txt", OutputFile::Existing::overwrite);
    file.append(std::as_bytes(std::span(manifest)));
    file.commit();
    fmt::print("{}", manifest);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_golden: {}\n", error.what());
    return 3;
  }
}
