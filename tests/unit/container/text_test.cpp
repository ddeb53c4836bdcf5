// SPDX-License-Identifier: Apache-2.0
#include "container/part_check.hpp"
#include "container/varint.hpp"

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

TEST(Chain, HasOneForm) {
  const auto chain = [](std::initializer_list<int> bytes) {
    std::vector<std::byte> all;
    for (const int byte : bytes) all.push_back(static_cast<std::byte>(byte));
    return is_chain(all);
  };
  EXPECT_TRUE(chain({1, 1, 0, 0, 0}));
  EXPECT_TRUE(chain({2, 1, 0, 1, 0, 9, 3, 0, 0, 0}));
  EXPECT_FALSE(chain({}));
  EXPECT_FALSE(chain({0}));
  EXPECT_FALSE(chain({1, 0, 0, 0, 0}));
  EXPECT_FALSE(chain({1, 1, 0, 1, 0}));
  EXPECT_FALSE(chain({1, 1, 0, 0, 0, 0}));
  EXPECT_FALSE(chain({9, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0,
                      0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_TRUE(chain({8, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
                     1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(Varint, GoesRoundTripAndRefusesMoreThan64Bits) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value :
         {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1, ~std::uint64_t{0} >> bit}) {
      std::vector<std::byte> bytes;
      append_varint(bytes, value);
      ByteCursor cursor(bytes);
      EXPECT_EQ(take_varint(cursor), value);
      EXPECT_EQ(cursor.left(), 0u);
      bytes.pop_back();
      ByteCursor cut(bytes);
      EXPECT_FALSE(take_varint(cut));
    }
  }
  std::vector<std::byte> over(9, std::byte{0xff});
  over.push_back(std::byte{0x02});
  ByteCursor cursor(over);
  EXPECT_FALSE(take_varint(cursor));
}

TEST(Printable, IsShortAndOnOneLine) {
  EXPECT_EQ(printable("a\nb\x1b[0m"), "\"a?b?[0m\"");
  EXPECT_LT(printable(std::string(1000, 'x')).size(), 100u);
}

}  // namespace
}  // namespace offramp
