// SPDX-License-Identifier: Apache-2.0

// Runs a fuzz target over a seed corpus with any compiler: `name_fuzz FILE|FOLDER...`. What a
// fuzzer once found stays tested where there is no libFuzzer.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path, std::size_t& count) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.shrink_to_fit();  // so that a sanitizer sees a read one byte behind the end
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ++count;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  const std::uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(&nothing, 0);
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) replay(entry.path(), count);
      }
    } else if (std::filesystem::exists(path)) {
      replay(path, count);
    }
  }
  std::printf("%zu seeds\n", count);
  if (count == 0) {
    std::fprintf(stderr, "no seed corpus: give the target some files in tests/fuzz/corpus/\n");
    return 1;
  }
  return 0;
}
