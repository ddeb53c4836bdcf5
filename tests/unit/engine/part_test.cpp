// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/engine/part.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace offramp {
namespace {

std::vector<Part> parts_of(const TensorDesc& desc, std::size_t max_size) {
  const PartPlan plan(desc, max_size);
  std::vector<Part> parts;
  for (std::uint64_t at = 0; at < plan.count(); ++at) parts.push_back(plan[at]);
  return parts;
}

TensorDesc bf16(Shape shape) { return {.dtype = DType::bf16, .shape = shape}; }

TEST(PartPlan, ATensorThatFitsIsOnePartOfItsOwnShape) {
  for (const Shape& shape :
       {Shape{}, Shape{0}, Shape{3, 0, 5}, Shape{7}, Shape{2, 3, 4, 5}, Shape{4, 128, 8}}) {
    const auto parts = parts_of(bf16(shape), 8192);
    ASSERT_EQ(parts.size(), 1u) << shape.to_string();
    EXPECT_EQ(parts[0], (Part{.first_elem = 0, .desc = bf16(shape)}));
  }
}

TEST(PartPlan, TakesWholeGroupsTogetherWhereTheyFit) {
  const auto parts = parts_of(bf16({5, 1024, 64}), 300'000);  // a group: 131072 bytes
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].desc.shape, (Shape{2, 1024, 64}));
  EXPECT_EQ(parts[1].first_elem, 2u * 1024 * 64);
  EXPECT_EQ(parts[2].desc.shape, (Shape{1, 1024, 64}));
}

TEST(PartPlan, CutsAGroupAtBandsOf256Rows) {
  const auto parts = parts_of(bf16({2, 1000, 64}), 100'000);  // 781 rows fit
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].desc.shape, (Shape{768, 64}));
  EXPECT_EQ(parts[1].desc.shape, (Shape{232, 64}));
  EXPECT_EQ(parts[2].first_elem, 64'000u) << "a part never spans two groups";
  EXPECT_EQ(parts[2].desc.shape, (Shape{768, 64}));
}

TEST(PartPlan, KeepsWholeRowsWhereABandDoesNotFit) {
  const auto parts = parts_of(bf16({300, 1000}), 200'000);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].desc.shape, (Shape{100, 1000}));
}

TEST(PartPlan, JoinsTheInnerAxesThatMakeTheChannels) {
  // Rows must be 64 at least and a group 4096 elements: the filter's 3 x 3 joins the channels.
  const auto parts = parts_of(bf16({512, 512, 3, 3}), 1 << 20);
  EXPECT_EQ(parts[0].desc.shape, (Shape{113, 512, 9}));
  EXPECT_EQ(parts.back().desc.shape, (Shape{512 - 4 * 113, 512, 9}));
}

TEST(PartPlan, CutsWhatHasNoChannelsFlat) {
  EXPECT_EQ(parts_of(bf16({100'000}), 70'000)[0].desc.shape, (Shape{32'768}));
  EXPECT_EQ(parts_of(bf16({100'000}), 2'000)[0].desc.shape, (Shape{1'000}));
  EXPECT_EQ(parts_of(bf16({3, 100'000}), 70'000)[0].desc.shape, (Shape{32'768}));
  EXPECT_EQ(parts_of(bf16({100, 100'000}), 70'000)[0].desc.shape, (Shape{32'768}))
      << "a row does not fit";
}

TEST(PartPlan, EveryElementIsInOnePartInOrder) {
  const std::vector<Shape> shapes{{1},          {1'000'003},    {64, 1, 64},        {7, 100, 64},
                                  {3, 257, 65}, {63, 63, 63},   {1, 1, 9999},       {2, 64, 64, 2},
                                  {4097, 2},    {20, 20, 5000}, {5, 5, 5, 5, 5, 5}, {8, 4096}};
  for (const DType dtype : {DType::u8, DType::bf16, DType::fp64}) {
    for (const Shape& shape : shapes) {
      for (const std::size_t max_size : {64u, 1'000u, 4'096u, 100'000u}) {
        const TensorDesc desc{.dtype = dtype, .shape = shape};
        std::uint64_t next = 0;
        for (const Part& part : parts_of(desc, max_size)) {
          ASSERT_EQ(part.first_elem, next);
          ASSERT_EQ(part.desc.dtype, dtype);
          ASSERT_GT(part.desc.shape.elems(), 0u);
          ASSERT_LE(part.desc.size(), max_size);
          next += part.desc.shape.elems();
        }
        ASSERT_EQ(next, shape.elems()) << shape.to_string() << " by " << max_size;
      }
    }
  }
}

TEST(PartPlan, RefusesAPartWithoutRoomForAnElement) {
  EXPECT_THROW(PartPlan({.dtype = DType::fp64, .shape = {2}}, 7), LogicError);
  EXPECT_THROW(PartPlan(bf16({std::uint64_t{1} << 33, std::uint64_t{1} << 33}), 64), LogicError);
}

}  // namespace
}  // namespace offramp
