// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_samples.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

namespace offramp::testing_samples {
namespace {

// Truncates a float to a sign, `exponent` and `mantissa` bits; out of range goes to zero or the
// largest finite exponent. Good enough to make samples with.
std::uint64_t narrow(float value, int exponent, int mantissa) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int bias = (1 << (exponent - 1)) - 1;
  const int largest = (1 << exponent) - 2;
  const int power = static_cast<int>(bits >> 23 & 0xff) - 127 + bias;
  const std::uint64_t sign = std::uint64_t{bits >> 31} << (exponent + mantissa);
  if (power <= 0) return sign;
  const std::uint64_t fraction = (bits & 0x7fffff) >> (23 - mantissa);
  return sign | static_cast<std::uint64_t>(std::min(power, largest)) << mantissa | fraction;
}

std::uint64_t bits_of(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::bf16:
      return std::bit_cast<std::uint32_t>(single) >> 16;
    case DType::fp16:
      return narrow(single, 5, 10);
    case DType::fp32:
      return std::bit_cast<std::uint32_t>(single);
    case DType::fp64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::fp8_e4m3:
      return narrow(single, 4, 3);
    case DType::fp8_e5m2:
      return narrow(single, 5, 2);
    case DType::boolean:
      return value > 0 ? 1 : 0;
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return static_cast<std::uint64_t>(std::llround(value * 8));
  }
  return 0;
}

class Maker {
 public:
  Maker(const TensorDesc& desc, std::uint64_t seed) : dtype_(desc.dtype), random_(seed) {
    if (desc.shape.rank() > 0) channels_ = desc.shape[desc.shape.rank() - 1];
  }

  std::uint64_t value(Kind kind, std::uint64_t elem) {
    switch (kind) {
      case Kind::zeros:
        return 0;
      case Kind::constant:
        return bits_of(dtype_, 1.75);
      case Kind::noise:
        return random_();
      case Kind::gaussian:
        return bits_of(dtype_, normal_(random_));
      case Kind::channels: {
        const auto channel = static_cast<double>(elem % channels_);
        return bits_of(dtype_, normal_(random_) * std::exp2(6 * std::sin(channel)));
      }
      case Kind::sparse:
        return random_() % 10 == 0 ? bits_of(dtype_, normal_(random_)) : 0;
      case Kind::ramp:
        return bits_of(dtype_, static_cast<double>(elem % 100) / 8);
      case Kind::mixed:
        return value(all_kinds[elem / 16384 % (all_kinds.size() - 1)], elem);
    }
    return 0;
  }

 private:
  DType dtype_;
  std::uint64_t channels_{1};
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  constexpr std::array<std::string_view, all_kinds.size()> names{
      "zeros", "constant", "noise", "gaussian", "channels", "sparse", "ramp", "mixed"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<std::byte> sample(const TensorDesc& desc, Kind kind, std::uint64_t seed) {
  Maker maker(desc, seed);
  const std::size_t width = size_of(desc.dtype);
  std::vector<std::byte> bytes(desc.size());
  for (std::size_t elem = 0; elem * width < bytes.size(); ++elem) {
    const std::uint64_t value = maker.value(kind, elem);
    std::memcpy(bytes.data() + elem * width, &value, width);
  }
  return bytes;
}

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) dtypes.push_back(*dtype_from_id(id));
  return dtypes;
}

std::vector<RealTensor> real_tensors(const std::string& file, std::size_t limit) {
  const std::string path = std::string(OFFRAMP_DATA_DIR) + "/" + file + ".safetensors";
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  std::vector<RealTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__" || tensors.size() == limit) continue;
    if (entry["dtype"] != "BF16") throw std::runtime_error(path + " holds more than bf16");
    const auto shape = entry["shape"].get<std::vector<std::uint64_t>>();
    const auto begin = entry["data_offsets"][0].get<std::size_t>();
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data()) + 8 + header_size;
    tensors.push_back({.name = name,
                       .desc = {.dtype = DType::bf16, .shape = Shape(shape)},
                       .bytes = {data + begin, data + end}});
  }
  return tensors;
}

}  // namespace offramp::testing_samples
