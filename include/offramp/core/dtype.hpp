// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace offramp {

/// Element type of a tensor. The numbers are part of the archive format and are never reused.
enum class DType : std::uint8_t {
  bf16 = 1,
  fp16 = 2,
  fp32 = 3,
  fp64 = 4,
  fp8_e4m3 = 5,
  fp8_e5m2 = 6,
  u8 = 7,
  i8 = 8,
  i16 = 9,
  i32 = 10,
  i64 = 11,
  boolean = 12,
  u16 = 13,
  u32 = 14,
  u64 = 15,
};

inline constexpr std::uint8_t min_dtype = 1;
inline constexpr std::uint8_t max_dtype = 15;

/// The dtype with this archive number, or nothing where no dtype has it.
[[nodiscard]] constexpr std::optional<DType> dtype_from_id(std::uint8_t id) noexcept {
  if (id < min_dtype || id > max_dtype) return std::nullopt;
  return static_cast<DType>(id);
}

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::fp8_e4m3:
    case DType::fp8_e5m2:
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return 1;
    case DType::bf16:
    case DType::fp16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::fp32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::fp64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

/// The name used on the command line and in JSON, such as "bf16" or "fp8_e4m3" ("bool" for
/// boolean).
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// The dtype of that name, or nothing.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name) noexcept;

}  // namespace offramp
