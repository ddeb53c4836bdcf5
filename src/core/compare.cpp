// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "core/checks.hpp"
#include "core/float_bits.hpp"

#include <offramp/core/compare.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace offramp {

template <class Read>
void Comparison::add_values(const std::byte* reference, const std::byte* restored,
                            std::size_t elems, std::size_t elem_size, Read read) {
  for (std::size_t i = 0; i < elems; ++i, reference += elem_size, restored += elem_size) {
    const bool equal = std::memcmp(reference, restored, elem_size) == 0;
    differing_ += !equal;
    const double a = read(reference);
    const double b = equal ? a : read(restored);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      nonfinite_ += !equal;
      continue;
    }
    const double error = a - b;
    max_error_ = std::max(max_error_, std::abs(error));
    squared_error_ += error * error;
    squared_reference_ += a * a;
    squared_restored_ += b * b;
    product_ += a * b;
  }
  elems_ += elems;
}

void Comparison::add(std::span<const std::byte> reference, std::span<const std::byte> restored) {
  const std::size_t size = size_of(dtype_);
  OFFRAMP_EXPECTS(reference.size() == restored.size(), "compared tensors must have equal sizes");
  OFFRAMP_EXPECTS(reference.size() % size == 0, "a comparison needs whole elements");
  const std::size_t elems = reference.size() / size;
  const auto values = [&](auto read) {
    add_values(reference.data(), restored.data(), elems, size, read);
  };
  const auto plain = [&]<class T>(T) {
    values([](const std::byte* at) { return static_cast<double>(load<T>(at)); });
  };
  switch (dtype_) {
    case DType::bf16:
      return values([](const std::byte* at) { return bf16_value(load<std::uint16_t>(at)); });
    case DType::fp16:
      return values([](const std::byte* at) { return fp16_value(load<std::uint16_t>(at)); });
    case DType::fp8_e4m3:
      return values([](const std::byte* at) { return fp8_e4m3_value(load<std::uint8_t>(at)); });
    case DType::fp8_e5m2:
      return values([](const std::byte* at) { return fp8_e5m2_value(load<std::uint8_t>(at)); });
    case DType::fp32:
      return plain(float{});
    case DType::fp64:
      return plain(double{});
    case DType::u8:
    case DType::boolean:
      return plain(std::uint8_t{});
    case DType::i8:
      return plain(std::int8_t{});
    case DType::i16:
      return plain(std::int16_t{});
    case DType::i32:
      return plain(std::int32_t{});
    case DType::i64:
      return plain(std::int64_t{});
    case DType::u16:
      return plain(std::uint16_t{});
    case DType::u32:
      return plain(std::uint32_t{});
    case DType::u64:
      return plain(std::uint64_t{});
  }
}

double Comparison::nmse() const noexcept {
  if (squared_error_ == 0) return 0;
  if (squared_reference_ == 0) return std::numeric_limits<double>::infinity();
  return squared_error_ / squared_reference_;
}

double Comparison::snr_db() const noexcept {
  const double ratio = nmse();
  return ratio == 0 ? std::numeric_limits<double>::infinity() : -10 * std::log10(ratio);
}

double Comparison::cosine() const noexcept {
  if (squared_reference_ == 0 && squared_restored_ == 0) return 1;
  if (squared_reference_ == 0 || squared_restored_ == 0) return 0;
  // Two square roots, not one of the product, which can overflow. Equal bits give 1 exactly.
  if (squared_error_ == 0) return 1;
  return product_ / (std::sqrt(squared_reference_) * std::sqrt(squared_restored_));
}

}  // namespace offramp
