// SPDX-License-Identifier: Apache-2.0
#include "exact_fixture.hpp"

#include <algorithm>

namespace offramp::exact {

Bytes values_for(DType dtype, tiles::TileExtent extent, unsigned seed) {
  const std::vector<float> floats =
      channel_values(extent, seed, dtype == DType::fp16 ? 1.0f : 2.0f);
  std::mt19937_64 random(seed);
  std::vector<double> noise(floats.size());
  for (std::size_t k = 0; k < noise.size(); ++k) {
    noise[k] = floats[k] * (1 + 1e-9 * static_cast<double>(random() % 1000));
  }
  Bytes bytes(floats.size() * size_of(dtype));
  for (std::size_t k = 0; k < floats.size(); ++k) {
    std::byte* to = bytes.data() + k * size_of(dtype);
    const auto bits32 = std::bit_cast<std::uint32_t>(floats[k]);
    const auto integer = static_cast<std::int64_t>(floats[k] * 20);
    switch (dtype) {
      case DType::bf16:
        store(to, bf16_bits(floats[k]));
        break;
      case DType::fp16: {  // enough of a conversion: exponents outside the range are cut off
        const int e = std::clamp(static_cast<int>(bits32 >> 23 & 0xff) - 112, 0, 30);
        store(to, static_cast<std::uint16_t>(bits32 >> 31 << 15 | static_cast<unsigned>(e) << 10 |
                                             (bits32 >> 13 & 0x3ff)));
        break;
      }
      case DType::fp8_e4m3: {
        const int e = std::clamp(static_cast<int>(bits32 >> 23 & 0xff) - 122, 0, 15);
        store(to, static_cast<std::uint8_t>(bits32 >> 31 << 7 | static_cast<unsigned>(e) << 3 |
                                            (bits32 >> 20 & 7)));
        break;
      }
      case DType::fp8_e5m2: {
        const int e = std::clamp(static_cast<int>(bits32 >> 23 & 0xff) - 112, 0, 31);
        store(to, static_cast<std::uint8_t>(bits32 >> 31 << 7 | static_cast<unsigned>(e) << 2 |
                                            (bits32 >> 21 & 3)));
        break;
      }
      case DType::fp32:
        store(to, bits32);
        break;
      case DType::fp64:
        store(to, noise[k]);
        break;
      case DType::boolean:
        store(to, static_cast<std::uint8_t>(integer & 1));
        break;
      case DType::u8:
      case DType::i8:
        store(to, static_cast<std::uint8_t>(integer));
        break;
      case DType::i16:
      case DType::u16:
        store(to, static_cast<std::uint16_t>(integer));
        break;
      case DType::i32:
      case DType::u32:
        store(to, static_cast<std::uint32_t>(integer));
        break;
      case DType::i64:
      case DType::u64:
        store(to, integer);
        break;
    }
  }
  return bytes;
}

}  // namespace offramp::exact
