// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_samples.hpp"

#include <offramp/codec/codec.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace offramp {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

ErrorCode parse_error(std::initializer_list<int> values) {
  const auto codec = Codec::parse(bytes_of(values));
  return codec ? ErrorCode{} : codec.error().code;
}

TEST(StageTable, IsSortedByNumberAndFindsItsRows) {
  StageId last{};
  for (const StageRow& row : stage_table()) {
    EXPECT_GT(row.id, last);
    last = row.id;
    EXPECT_EQ(find_stage(row.id), &row);
    EXPECT_EQ(find_stage(row.name), &row);
  }
  EXPECT_EQ(find_stage(StageId{999}), nullptr);
  EXPECT_EQ(find_stage("nothing"), nullptr);
}

TEST(StageTable, NumbersAreThoseOfArchives) {
  ASSERT_EQ(stage_table().size(), 3u);
  EXPECT_EQ(static_cast<int>(find_stage("store")->id), 1);
  EXPECT_EQ(static_cast<int>(find_stage("exact")->id), 2);
  EXPECT_EQ(static_cast<int>(find_stage("exact-dense")->id), 3);
}

TEST(Codec, EveryNameSurvivesSerializing) {
  for (const StageRow& row : stage_table()) {
    const Codec codec = Codec::from_name(row.name).value();
    EXPECT_EQ(codec.name(), row.name);
    EXPECT_EQ(Codec::parse(codec.serialize()).value(), codec);
  }
}

TEST(Codec, BytesOfAChainAreThoseOfTheFormat) {
  EXPECT_EQ(Codec::from_name("store").value().serialize(), bytes_of({1, 1, 0, 0, 0}));
  const Codec codec = Codec::parse(bytes_of({1, 1, 0, 2, 0, 7, 8})).value();
  EXPECT_EQ(codec.steps()[0].params, bytes_of({7, 8}));
}

TEST(Codec, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const auto codec = Codec::from_name("zip");
  ASSERT_FALSE(codec);
  EXPECT_EQ(codec.error().code, ErrorCode::unknown_stage);
  EXPECT_THAT(codec.error().remedy, testing::HasSubstr("store"));
}

TEST(Codec, BadChainsAreRefused) {
  EXPECT_EQ(parse_error({}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({9}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({255, 1, 0, 0, 0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({1, 1, 0, 0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({1, 1, 0, 1, 0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({1, 1, 0, 255, 255, 0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({1, 1, 0, 0, 0, 0}), ErrorCode::bad_header);
  EXPECT_EQ(parse_error({1, 0, 0, 0, 0}), ErrorCode::unknown_stage);
  EXPECT_EQ(parse_error({1, 1, 1, 0, 0}), ErrorCode::unknown_stage);
  EXPECT_EQ(parse_error({2, 1, 0, 0, 0, 1, 0, 0, 0}), ErrorCode::unsupported);
}

TEST(Codec, AnEmptyOneCannotBeUsed) {
  EXPECT_THROW((void)Codec().max_encoded_size({}), LogicError);
}

std::vector<std::byte> encode(const Codec& codec, TensorView in, bool* stored) {
  Workers workers(2);
  std::vector<std::byte> out(codec.max_encoded_size(in.desc));
  std::vector<std::byte> scratch(codec.encode_scratch_size(in.desc, workers.size()));
  const auto encoded = codec.encode(in, out, scratch, workers);
  *stored = encoded.stored;
  out.resize(encoded.size);
  return out;
}

std::vector<std::byte> decode(const Codec& codec, const TensorDesc& desc,
                              const std::vector<std::byte>& coded) {
  Workers workers(2);
  std::vector<std::byte> out(desc.size());
  std::vector<std::byte> scratch(codec.decode_scratch_size(desc, workers.size()));
  codec.decode(coded, desc, 0, out, scratch, workers).value();
  return out;
}

TEST(Codec, ShrinksWhatShrinksAndStoresTheRest) {
  const TensorDesc desc{DType::fp32, {300, 70}};
  for (const StageRow& row : stage_table()) {
    const Codec codec = Codec::from_name(row.name).value();
    bool stored = false;
    const std::vector<std::byte> zeros(desc.size());
    const auto small = encode(codec, {desc, zeros}, &stored);
    if (row.id == StageId::store) {
      EXPECT_TRUE(stored);
      EXPECT_EQ(small.size(), desc.size());
    } else {
      EXPECT_FALSE(stored) << row.name;
      EXPECT_LT(small.size(), desc.size() / 100) << row.name;
    }
    EXPECT_EQ(decode(codec, desc, small), zeros);

    const auto noise = testing_samples::sample(desc, testing_samples::Kind::noise, 5);
    const auto same = encode(codec, {desc, noise}, &stored);
    EXPECT_TRUE(stored) << row.name;
    EXPECT_EQ(same, noise) << row.name;
    EXPECT_EQ(decode(Codec::from_name("store").value(), desc, same), noise);
  }
}

}  // namespace
}  // namespace offramp
