// SPDX-License-Identifier: Apache-2.0
#include "core/float_bits.hpp"

#include <offramp/core/compare.hpp>
#include <offramp/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace offramp {
namespace {

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Comparison, OfEqualTensors) {
  const std::vector<float> a{1, -2, 3, std::numeric_limits<float>::quiet_NaN()};
  Comparison comparison(DType::fp32);
  comparison.add(bytes(a), bytes(a));
  EXPECT_TRUE(comparison.bit_equal());
  EXPECT_EQ(comparison.elems(), 4u);
  EXPECT_EQ(comparison.max_error(), 0);
  EXPECT_EQ(comparison.nmse(), 0);
  EXPECT_EQ(comparison.cosine(), 1);
  EXPECT_TRUE(std::isinf(comparison.snr_db()));
}

TEST(Comparison, StatesTheErrorAcrossChunks) {
  Comparison comparison(DType::fp32);
  comparison.add(bytes(std::vector<float>{3, 0}), bytes(std::vector<float>{3, 1}));
  comparison.add(bytes(std::vector<float>{4}), bytes(std::vector<float>{2}));
  EXPECT_EQ(comparison.differing(), 2u);
  EXPECT_EQ(comparison.max_error(), 2);
  EXPECT_DOUBLE_EQ(comparison.nmse(), 5.0 / 25.0);
  EXPECT_NEAR(comparison.snr_db(), 6.98970004336, 1e-9);
  EXPECT_DOUBLE_EQ(comparison.cosine(), 17.0 / (5.0 * std::sqrt(14.0)));
}

TEST(Comparison, NegativeZeroAndNanPayloadsDiffer) {
  Comparison zeros(DType::fp32);
  zeros.add(bytes(std::vector<float>{0.0f}), bytes(std::vector<float>{-0.0f}));
  EXPECT_FALSE(zeros.bit_equal());
  EXPECT_EQ(zeros.nmse(), 0);
  Comparison nans(DType::bf16);
  nans.add(bytes(std::vector<std::uint16_t>{0x7fc0}), bytes(std::vector<std::uint16_t>{0x7fc1}));
  EXPECT_EQ(nans.differing(), 1u);
  EXPECT_EQ(nans.nonfinite(), 1u);
}

TEST(Comparison, RefusesUnequalSizes) {
  Comparison comparison(DType::fp32);
  EXPECT_THROW(comparison.add(bytes(std::vector<float>{1}), bytes(std::vector<float>{1, 2})),
               LogicError);
  EXPECT_THROW(comparison.add(bytes(std::vector<char>{1}), bytes(std::vector<char>{1})),
               LogicError);
}

// Spot values of the number formats' own specifications.
TEST(FloatBits, ReadsKnownValues) {
  EXPECT_EQ(bf16_value(0x3f80), 1.0);
  EXPECT_EQ(bf16_value(0xc049), -3.140625);
  EXPECT_EQ(fp16_value(0x3c00), 1.0);
  EXPECT_EQ(fp16_value(0x7bff), 65504.0);
  EXPECT_EQ(fp16_value(0x0001), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(fp16_value(0xfc00)));
  EXPECT_TRUE(std::isnan(fp16_value(0x7c01)));
  EXPECT_EQ(fp8_e4m3_value(0x7e), 448.0);
  EXPECT_EQ(fp8_e4m3_value(0xfe), -448.0);
  EXPECT_EQ(fp8_e4m3_value(0x78), 256.0);
  EXPECT_EQ(fp8_e4m3_value(0x01), std::ldexp(1.0, -9));
  EXPECT_TRUE(std::isnan(fp8_e4m3_value(0x7f)));
  EXPECT_EQ(fp8_e5m2_value(0x7b), 57344.0);
  EXPECT_TRUE(std::isinf(fp8_e5m2_value(0x7c)));
  EXPECT_EQ(fp8_e5m2_value(0x01), std::ldexp(1.0, -16));
}

}  // namespace
}  // namespace offramp
