// SPDX-License-Identifier: Apache-2.0
#include "container/part_check.hpp"
#include "container/varint.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace offramp {
namespace {

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
