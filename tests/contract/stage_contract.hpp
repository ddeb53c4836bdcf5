// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every row of the stage table owes its users. A test executable includes this file and
// instantiates StageContract over rows.

#include "contract/counting_new.hpp"
#include "contract/guarded_bytes.hpp"
#include "contract/tensor_samples.hpp"

#include <offramp/codec/stage.hpp>
#include <offramp/core/workers.hpp>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace offramp {

inline void PrintTo(const StageRow& row, std::ostream* out) { *out << row.name; }

class StageContract : public testing::TestWithParam<StageRow> {
 protected:
  using Bytes = std::vector<std::byte>;

  static std::vector<Shape> edge_shapes() {
    return {{},         {0},           {3, 0, 64},     {1},       {2},          {63},
            {64},       {65},          {1000},         {7, 3},    {8, 3},       {100, 3},
            {16, 128},  {2, 16, 576},  {4, 4096},      {64, 65},  {256, 64},    {257, 64},
            {300, 100}, {1, 1, 70, 1}, {64, 64, 3, 3}, {1300, 5}, {2, 80, 130}, {1, 300, 16, 4}};
  }
  static std::vector<Shape> large_shapes() { return {{3, 1024, 64}, {1000, 576}, {90000}}; }

  static const StageRow& row() { return GetParam(); }

  // Encodes from bytes before a wall, between guards, with `fill` in scratch and output beforehand.
  static Bytes encode(const TensorDesc& desc, const Bytes& in, Workers& workers,
                      std::byte fill = std::byte{0xcd}) {
    using testing_samples::GuardedBytes;
    const testing_samples::BytesBeforeWall source(in);
    const std::size_t limit = row().max_encoded_size(desc);
    GuardedBytes out(limit, fill, fill == std::byte{0} ? 3 : 0);
    GuardedBytes scratch(row().encode_scratch_size(desc, workers.size()), fill);
    const std::size_t size = row().encode({.in = {.desc = desc, .bytes = source.span()},
                                           .out = out.span(),
                                           .scratch = scratch.span(),
                                           .workers = &workers});
    EXPECT_TRUE(out.intact());
    EXPECT_TRUE(scratch.intact());
    EXPECT_LE(size, limit);
    const auto coded = out.span().first(std::min(size, limit));
    return {coded.begin(), coded.end()};
  }

  // Decodes `elems` elements from `first` on, from coded bytes before a wall, between guards.
  static Result<Bytes> decode(const TensorDesc& desc, const Bytes& coded, Workers& workers,
                              std::uint64_t first, std::uint64_t elems) {
    using testing_samples::GuardedBytes;
    const testing_samples::BytesBeforeWall source(coded);
    GuardedBytes out(elems * size_of(desc.dtype));
    GuardedBytes scratch(row().decode_scratch_size(desc, workers.size()));
    const auto result = row().decode({.in = source.span(),
                                      .desc = desc,
                                      .first_elem = first,
                                      .out = out.span(),
                                      .scratch = scratch.span(),
                                      .workers = &workers});
    EXPECT_TRUE(out.intact());
    EXPECT_TRUE(scratch.intact());
    if (!result) return result.error();
    return Bytes(out.span().begin(), out.span().end());
  }
  static Result<Bytes> decode(const TensorDesc& desc, const Bytes& coded, Workers& workers) {
    return decode(desc, coded, workers, 0, desc.shape.elems());
  }

  static std::string describe(const TensorDesc& desc, testing_samples::Kind kind) {
    return std::string(name_of(desc.dtype)) + " " + desc.shape.to_string() + " " +
           std::string(testing_samples::name_of(kind));
  }

  void round_trip(const TensorDesc& desc, testing_samples::Kind kind, Workers& workers) {
    SCOPED_TRACE(describe(desc, kind));
    const Bytes in = testing_samples::sample(desc, kind, 1 + desc.shape.elems());
    const auto back = decode(desc, encode(desc, in, workers), workers);
    ASSERT_TRUE(back) << back.error().message();
    ASSERT_TRUE(*back == in);
  }
};

TEST_P(StageContract, EveryDtypeShapeAndKindOfDataSurvives) {
  Workers workers(2);
  for (const DType dtype : testing_samples::all_dtypes()) {
    for (const Shape& shape : edge_shapes()) {
      for (const auto kind : testing_samples::all_kinds) {
        round_trip({dtype, shape}, kind, workers);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(StageContract, LargeShapesSurvive) {
  Workers workers(2);
  for (const DType dtype : {DType::bf16, DType::fp32, DType::fp64, DType::fp8_e4m3, DType::i64}) {
    for (const Shape& shape : large_shapes()) {
      for (const auto kind : {testing_samples::Kind::channels, testing_samples::Kind::mixed}) {
        round_trip({dtype, shape}, kind, workers);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(StageContract, RandomShapesSurvive) {
  Workers workers(2);
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> extents(random() % 5);
    std::uint64_t left = 60000;
    for (auto& extent : extents) {
      extent = 1 + random() % std::min<std::uint64_t>(left, std::uint64_t{1} << random() % 11);
      left /= extent;
    }
    const auto dtypes = testing_samples::all_dtypes();
    const auto kinds = testing_samples::all_kinds;
    round_trip({dtypes[random() % dtypes.size()], Shape(extents)}, kinds[random() % kinds.size()],
               workers);
    if (HasFatalFailure()) return;
  }
}

TEST_P(StageContract, RealTensorsSurvive) {
  Workers workers(2);
  for (const char* file : {"kv_docs", "kv_code", "hidden_docs", "grad_docs"}) {
    const auto tensors = testing_samples::real_tensors(file, 3);
    ASSERT_FALSE(tensors.empty());
    for (const auto& tensor : tensors) {
      SCOPED_TRACE(tensor.name);
      const auto back = decode(tensor.desc, encode(tensor.desc, tensor.bytes, workers), workers);
      ASSERT_TRUE(back) << back.error().message();
      ASSERT_TRUE(*back == tensor.bytes);
    }
  }
}

TEST_P(StageContract, ThreadsAndRunsDoNotChangeTheBytes) {
  Workers one(1);
  for (const DType dtype : {DType::bf16, DType::fp32, DType::u8}) {
    for (const Shape& shape : {Shape{3, 1024, 64}, Shape{1000, 576}, Shape{20, 30}}) {
      for (const auto kind : testing_samples::all_kinds) {
        const TensorDesc desc{dtype, shape};
        SCOPED_TRACE(describe(desc, kind));
        const Bytes in = testing_samples::sample(desc, kind, 3);
        const Bytes expected = encode(desc, in, one);
        for (const std::size_t threads : {1, 2, 3, 8}) {
          Workers workers(threads);
          ASSERT_TRUE(encode(desc, in, workers, std::byte{0}) == expected) << threads;
          const auto back = decode(desc, expected, workers);
          ASSERT_TRUE(back && *back == in) << threads;
        }
      }
    }
  }
}

TEST_P(StageContract, InstructionSetsDoNotChangeTheBytes) {
  Workers workers(1);
  const auto use = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  const std::int64_t all = hwy::SupportedTargets();
  std::vector<TensorDesc> descs;
  for (const DType dtype : testing_samples::all_dtypes()) {
    for (const Shape& shape : {Shape{300, 100}, Shape{2, 16, 576}, Shape{1000}}) {
      descs.push_back({dtype, shape});
    }
  }
  for (const TensorDesc& desc : descs) {
    for (const auto kind : testing_samples::all_kinds) {
      SCOPED_TRACE(describe(desc, kind));
      const Bytes in = testing_samples::sample(desc, kind, 11);
      use(all);
      const Bytes expected = encode(desc, in, workers);
      for (std::int64_t left = all; left != 0; left &= left - 1) {
        const std::int64_t target = left & -left;
        use(target);
        EXPECT_TRUE(encode(desc, in, workers) == expected) << hwy::TargetName(target);
        const auto back = decode(desc, expected, workers);
        EXPECT_TRUE(back && *back == in) << hwy::TargetName(target);
      }
    }
    if (HasFailure()) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_P(StageContract, ARangeDecodesToThatSliceOfTheWhole) {
  Workers workers(2);
  std::mt19937_64 random(5);
  for (const Shape& shape : {Shape{3, 300, 64}, Shape{600, 150}, Shape{5000}, Shape{700, 5}}) {
    for (const DType dtype : {DType::bf16, DType::fp64, DType::u8}) {
      const TensorDesc desc{dtype, shape};
      SCOPED_TRACE(describe(desc, testing_samples::Kind::mixed));
      const std::size_t width = size_of(dtype);
      const Bytes in = testing_samples::sample(desc, testing_samples::Kind::mixed, 9);
      const Bytes coded = encode(desc, in, workers);
      const std::uint64_t elems = shape.elems();
      for (int round = 0; round < 60; ++round) {
        // Short, long, empty and row-aligned ranges.
        const std::uint64_t unit = round % 3 == 0 ? shape[shape.rank() - 1] : 1;
        const std::uint64_t first = random() % (elems / unit + 1) * unit;
        const std::uint64_t most =
            round % 2 == 0 ? elems - first : std::min<std::uint64_t>(elems - first, 200);
        const std::uint64_t count = random() % (most + 1) / unit * unit;
        const auto back = decode(desc, coded, workers, first, count);
        ASSERT_TRUE(back) << back.error().message();
        ASSERT_TRUE(std::equal(back->begin(), back->end(), in.begin() + first * width))
            << first << " + " << count;
      }
    }
  }
}

TEST_P(StageContract, DamagedBytesNeverLeaveTheBuffers) {
  Workers workers(1);
  std::mt19937_64 random(17);
  for (const DType dtype : testing_samples::all_dtypes()) {
    for (const auto kind : testing_samples::all_kinds) {
      const TensorDesc desc{dtype, {90, 70}};
      SCOPED_TRACE(describe(desc, kind));
      const Bytes in = testing_samples::sample(desc, kind, 13);
      const Bytes coded = encode(desc, in, workers);
      for (int round = 0; round < 60; ++round) {
        Bytes damaged = coded;
        for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
          // The header and the directories lie at the ends.
          const std::size_t span =
              round % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 96);
          const std::size_t at =
              round % 4 == 1 ? damaged.size() - 1 - random() % span : random() % span;
          damaged[at] ^= static_cast<std::byte>(1u << random() % 8);
        }
        (void)decode(desc, damaged, workers);
      }
      for (int round = 0; round < 30; ++round) {
        Bytes cut = coded;
        cut.resize(round == 0 ? 0 : random() % coded.size());
        EXPECT_FALSE(decode(desc, cut, workers)) << cut.size();
      }
      Bytes longer = coded;
      longer.resize(coded.size() + 16);
      EXPECT_FALSE(decode(desc, longer, workers));
      for (int round = 0; round < 30; ++round) {
        Bytes noise = coded;
        const std::size_t keep = random() % noise.size();
        for (std::size_t i = keep; i < noise.size(); ++i)
          noise[i] = static_cast<std::byte>(random());
        (void)decode(desc, noise, workers);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(StageContract, ADescriptionThatIsNotTheChunksIsRefused) {
  Workers workers(1);
  const TensorDesc desc{DType::bf16, {300, 100}};
  const Bytes in = testing_samples::sample(desc, testing_samples::Kind::gaussian, 19);
  const Bytes coded = encode(desc, in, workers);
  const auto huge = std::uint64_t{1} << 62;
  for (const TensorDesc& wrong :
       {TensorDesc{DType::bf16, {301, 100}}, TensorDesc{DType::bf16, {299, 100}},
        TensorDesc{DType::bf16, {300, 101}}, TensorDesc{DType::fp32, {300, 100}},
        TensorDesc{DType::bf16, {0}}, TensorDesc{DType::bf16, {}}}) {
    EXPECT_FALSE(decode(wrong, coded, workers)) << wrong.shape.to_string();
  }
  for (const Shape& shape : {Shape{huge, 8}, Shape{huge}, Shape{huge >> 4}}) {
    const TensorDesc wrong{DType::bf16, shape};
    testing_samples::GuardedBytes scratch(1 << 20);
    EXPECT_FALSE(
        row().decode({.in = coded, .desc = wrong, .scratch = scratch.span(), .workers = &workers}))
        << shape.to_string();
  }
}

TEST_P(StageContract, UnknownParametersAreRefused) {
  Workers workers(1);
  const TensorDesc desc{DType::bf16, {70, 70}};
  const Bytes in = testing_samples::sample(desc, testing_samples::Kind::gaussian, 23);
  const Bytes params(3);
  Bytes coded = encode(desc, in, workers);
  Bytes out(std::max(row().max_encoded_size(desc), in.size()));
  Bytes scratch(std::max(row().encode_scratch_size(desc, 1), row().decode_scratch_size(desc, 1)));
  EXPECT_THROW(row().encode({.in = {.desc = desc, .bytes = in},
                             .params = params,
                             .out = out,
                             .scratch = scratch,
                             .workers = &workers}),
               LogicError);
  const auto result = row().decode({.in = coded,
                                    .desc = desc,
                                    .params = params,
                                    .out = std::span(out).first(in.size()),
                                    .scratch = scratch,
                                    .workers = &workers});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::bad_header);
}

TEST_P(StageContract, BrokenPreconditionsThrow) {
  Workers workers(1);
  const TensorDesc desc{DType::fp32, {70, 70}};
  const Bytes in = testing_samples::sample(desc, testing_samples::Kind::gaussian, 29);
  Bytes out(row().max_encoded_size(desc));
  Bytes scratch(row().encode_scratch_size(desc, 1));
  const EncodeArgs good{
      .in = {.desc = desc, .bytes = in}, .out = out, .scratch = scratch, .workers = &workers};
  ASSERT_NO_THROW(row().encode(good));
  EncodeArgs bad = good;
  bad.out = bad.out.first(out.size() - 1);
  EXPECT_THROW(row().encode(bad), LogicError);
  bad = good;
  bad.in.bytes = bad.in.bytes.first(in.size() - 1);
  EXPECT_THROW(row().encode(bad), LogicError);
  bad = good;
  bad.workers = nullptr;
  EXPECT_THROW(row().encode(bad), LogicError);
  if (!scratch.empty()) {
    bad = good;
    bad.scratch = bad.scratch.first(scratch.size() - 1);
    EXPECT_THROW(row().encode(bad), LogicError);
  }
  const auto huge = std::uint64_t{1} << 62;
  EXPECT_THROW((void)row().max_encoded_size({DType::fp32, {huge, 8}}), LogicError);

  const Bytes coded = encode(desc, in, workers);
  Bytes back(in.size());
  scratch.resize(row().decode_scratch_size(desc, 1));
  const auto decode_range = [&](std::uint64_t first, std::size_t bytes) {
    return row().decode({.in = coded,
                         .desc = desc,
                         .first_elem = first,
                         .out = std::span(back).first(bytes),
                         .scratch = scratch,
                         .workers = &workers});
  };
  EXPECT_TRUE(decode_range(4900, 0));
  EXPECT_THROW((void)decode_range(0, 3), LogicError);
  EXPECT_THROW((void)decode_range(1, back.size()), LogicError);
  EXPECT_THROW((void)decode_range(4901, 0), LogicError);
  EXPECT_THROW((void)decode_range(~std::uint64_t{0}, 4), LogicError);
}

TEST_P(StageContract, NeitherCallAllocates) {
  Workers workers(2);
  for (const DType dtype : {DType::bf16, DType::fp16, DType::fp32, DType::i32}) {
    for (const auto kind : testing_samples::all_kinds) {
      const TensorDesc desc{dtype, {3, 300, 100}};
      const Bytes in = testing_samples::sample(desc, kind, 31);
      Bytes out(row().max_encoded_size(desc));
      Bytes scratch(
          std::max(row().encode_scratch_size(desc, 2), row().decode_scratch_size(desc, 2)));
      Bytes back(in.size());
      (void)hwy::SupportedTargets();
      const std::size_t before = testing_samples::allocations();
      const std::size_t size = row().encode(
          {.in = {.desc = desc, .bytes = in}, .out = out, .scratch = scratch, .workers = &workers});
      const auto result = row().decode({.in = std::span(out).first(size),
                                        .desc = desc,
                                        .out = back,
                                        .scratch = scratch,
                                        .workers = &workers});
      EXPECT_EQ(testing_samples::allocations(), before) << describe(desc, kind);
      EXPECT_TRUE(result && back == in);
    }
  }
}

}  // namespace offramp
