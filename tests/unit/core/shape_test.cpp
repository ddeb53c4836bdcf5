// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/core/shape.hpp>
#include <offramp/core/tensor_view.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace offramp {
namespace {

TEST(Shape, CountsElementsAndRefusesOverflow) {
  EXPECT_EQ(Shape{}.elems(), 1u);
  EXPECT_EQ((Shape{3, 1024, 64}.elems()), 196608u);
  EXPECT_EQ((Shape{5, 0}.elems()), 0u);
  EXPECT_EQ((Shape{std::uint64_t{1} << 63, 4, 0}.checked_elems()), 0u);
  EXPECT_FALSE((Shape{std::uint64_t{1} << 33, std::uint64_t{1} << 33}.checked_elems()));
  EXPECT_FALSE((TensorDesc{DType::fp64, Shape{std::uint64_t{1} << 62}}.checked_size()));
  EXPECT_EQ((TensorDesc{DType::fp64, Shape{2, 3}}.size()), 48u);
}

TEST(Shape, RefusesTooManyAxes) {
  const std::vector<std::uint64_t> extents(Shape::max_rank + 1, 1);
  EXPECT_THROW(Shape{std::span(extents)}, LogicError);
}

TEST(Shape, PrintsAsPythonDoes) {
  EXPECT_EQ((Shape{3, 1024, 64}.to_string()), "[3, 1024, 64]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
}

TEST(DType, NamesAndNumbersGoRoundTrip) {
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
    const auto dtype = dtype_from_id(id);
    ASSERT_TRUE(dtype);
    EXPECT_EQ(dtype_from_name(name_of(*dtype)), dtype);
    EXPECT_GT(size_of(*dtype), 0u);
  }
  EXPECT_FALSE(dtype_from_id(0));
  EXPECT_FALSE(dtype_from_id(max_dtype + 1));
  EXPECT_FALSE(dtype_from_name("float7"));
}

}  // namespace
}  // namespace offramp
