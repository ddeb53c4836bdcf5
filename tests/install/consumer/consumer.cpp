// SPDX-License-Identifier: Apache-2.0

// A program outside the tree: codes a tensor with every codec and gets its bytes back.

#include <offramp/codec/stage.hpp>
#include <offramp/compress.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  const offramp::TensorDesc desc{offramp::DType::bf16, offramp::Shape{512, 64}};
  std::vector<std::byte> values(desc.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::byte(i % 2 ? 0x3f : i * i / 7);

  for (const offramp::StageRow& row : offramp::stage_table()) {
    const std::string name(row.name);
    const auto packed = offramp::compress({desc, values}, {.codec = name, .threads = 2});
    const auto restored = offramp::decompress(packed);
    std::printf("%s: %zu -> %zu bytes\n", name.c_str(), values.size(), packed.size());
    if (!restored || restored->desc != desc || restored->bytes != values) {
      std::fprintf(stderr, "%s: not restored\n", name.c_str());
      return 1;
    }
  }
  return 0;
}
