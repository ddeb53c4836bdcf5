// SPDX-License-Identifier: Apache-2.0

// A program outside the tree: codes a tensor with every codec and gets its bytes back.

#include <offramp/codec/codec.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  const offramp::TensorDesc desc{offramp::DType::bf16, offramp::Shape{512, 64}};
  std::vector<std::byte> values(desc.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::byte(i % 2 ? 0x3f : i * i / 7);

  offramp::Workers workers(2);
  for (const offramp::StageRow& row : offramp::stage_table()) {
    const std::string name(row.name);
    const auto codec = offramp::Codec::from_name(name).value();
    std::vector<std::byte> coded(codec.max_encoded_size(desc));
    std::vector<std::byte> scratch(codec.encode_scratch_size(desc, workers.size()));
    const auto encoded = codec.encode({desc, values}, coded, scratch, workers);
    coded.resize(encoded.size);

    const auto decoder = encoded.stored ? offramp::Codec::from_name("store").value() : codec;
    std::vector<std::byte> restored(values.size());
    scratch.resize(decoder.decode_scratch_size(desc, workers.size()));
    decoder.decode(coded, desc, 0, restored, scratch, workers).value();
    std::printf("%s: %zu -> %zu bytes\n", name.c_str(), values.size(), coded.size());
    if (restored != values) {
      std::fprintf(stderr, "%s: the restored bytes differ\n", name.c_str());
      return 1;
    }
  }
  return 0;
}
