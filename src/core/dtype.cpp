// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/dtype.hpp>

#include <array>

namespace offramp {
namespace {

constexpr std::array<std::string_view, max_dtype + 1> names{
    "",   "bf16", "fp16", "fp32", "fp64", "fp8_e4m3", "fp8_e5m2", "u8",
    "i8", "i16",  "i32",  "i64",  "bool", "u16",      "u32",      "u64"};

}  // namespace

std::string_view name_of(DType dtype) noexcept {
  const auto id = static_cast<std::uint8_t>(dtype);
  return id <= max_dtype ? names[id] : std::string_view{};
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
    if (names[id] == name) return static_cast<DType>(id);
  }
  return std::nullopt;
}

}  // namespace offramp
