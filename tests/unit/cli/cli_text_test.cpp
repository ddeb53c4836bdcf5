// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace offramp::cli {
namespace {

TEST(Text, OneIsNotMany) {
  EXPECT_EQ(counted(0, "tensor"), "0 tensors");
  EXPECT_EQ(counted(1, "tensor"), "1 tensor");
  EXPECT_EQ(counted(2, "whole record"), "2 whole records");
}

TEST(Text, TheNearestNameIsFoundAndNoFarOne) {
  constexpr std::array<std::string_view, 6> names{"pack",   "unpack",     "verify",
                                                  "vortex", "mandelbrot", "heat"};
  for (const auto& [word, meant] : {std::pair{"pakc", "pack"},
                                    {"pac", "pack"},
                                    {"packs", "pack"},
                                    {"unpak", "unpack"},
                                    {"varify", "verify"},
                                    {"vertex", "vortex"},
                                    {"mandlebort", "mandelbrot"},
                                    {"heat", "heat"},
                                    {"hate", ""},
                                    {"x", ""},
                                    {"", ""},
                                    {"mandarin", ""}}) {
    EXPECT_EQ(nearest(word, names), meant) << word;
  }
  EXPECT_EQ(nearest(std::string(1000, 'p'), names), "");
}

}  // namespace
}  // namespace offramp::cli
