// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace offramp {
namespace {

std::string encode(std::uint32_t code, int size) {
  std::string text;
  if (size == 1) return std::string(1, static_cast<char>(code));
  constexpr unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(leads[size] | (code >> (6 * (size - 1))));
  for (int i = size - 2; i >= 0; --i) text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  return text;
}

// Against the definition: the shortest form of every code point but the surrogates.
TEST(Utf8, TakesEachCodePointInItsShortestFormOnly) {
  for (std::uint32_t code = 0; code < 0x1fffff; ++code) {
    const int shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool exists = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    ASSERT_EQ(is_utf8(encode(code, shortest)), exists) << code;
    if (code < 0x10000) {
      ASSERT_FALSE(is_utf8(encode(code, shortest + 1))) << code;
    }
    if (shortest > 1 && code % 97 == 0) {
      ASSERT_FALSE(is_utf8(encode(code, shortest).substr(0, shortest - 1))) << code;
    }
  }
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xff"));
}

}  // namespace
}  // namespace offramp
