// SPDX-License-Identifier: Apache-2.0
#include <offramp/codec/codec.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

// Every prefix is tried as a codec chain, as records hold it, and what follows it as a chunk of 64
// bf16 values.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace offramp;
  static Workers workers(1);
  const auto input = std::as_bytes(std::span(data, size));
  for (std::size_t chain = 0; chain <= std::min<std::size_t>(size, 64); ++chain) {
    const auto codec = Codec::parse(input.first(chain));
    if (!codec) continue;
    const auto again = codec->serialize();
    if (!std::ranges::equal(again, input.first(chain)) || codec->name().empty()) std::abort();
    const TensorDesc desc{DType::bf16, {64}};
    std::vector<std::byte> out(desc.size());
    std::vector<std::byte> scratch(codec->decode_scratch_size(desc, 1));
    (void)codec->decode(input.subspan(chain), desc, 0, out, scratch, workers);
  }
  return 0;
}
