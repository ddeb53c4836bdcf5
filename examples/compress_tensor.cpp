// SPDX-License-Identifier: Apache-2.0
// One tensor in one call, and back.
#include <offramp/offramp.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  // 1024 tokens of 64 channels, bf16: here normal noise, in your program a KV cache.
  std::vector<std::uint16_t> values(1024 * 64);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto& value : values) {
    const float drawn = normal(random);
    value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(drawn) >> 16);
  }

  const offramp::TensorView tensor{{offramp::DType::bf16, {1024, 64}},
                                   std::as_bytes(std::span(values))};
  const auto packed = offramp::compress(tensor, {.codec = "exact-dense"});
  const auto restored = offramp::decompress(packed);
  if (!restored) {
    std::fprintf(stderr, "%s\n", restored.error().message().c_str());
    return 1;
  }
  const bool equal = std::ranges::equal(restored->bytes, tensor.bytes);
  std::printf("%zu bytes -> %zu, %s\n", tensor.bytes.size(), packed.size(),
              equal ? "bit-equal" : "DIFFERENT");
  return equal ? 0 : 1;
}
