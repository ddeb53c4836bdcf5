// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace offramp::testing_sources {

using Bytes = std::vector<std::byte>;

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    std::string name = ::testing::TempDir() + "frame_sources_XXXXXX";
    folder = mkdtemp(name.data());
  }
  ~SourceTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string folder;
};

inline std::vector<std::string> read_all(FrameSource& source) {
  std::vector<std::string> frames;
  Bytes frame(source.format().size());
  while (source.read(frame))
    frames.emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
  return frames;
}

/// What DataError says of this.
template <class Body>
std::string complaint(Body&& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace offramp::testing_sources
