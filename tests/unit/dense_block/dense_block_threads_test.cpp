// SPDX-License-Identifier: Apache-2.0
// The block code on true threads, for TSan: between two barriers no thread may write what another
// reads. Results are compared as well.
#include "contract/tensor_samples.hpp"
#include "dense_block_fixture.hpp"
#include "unit/exact_block/thread_block.hpp"

#include <gtest/gtest.h>

#include <array>

namespace offramp::exact_dense::block {
namespace {

using exact::block::extent_of;
using exact::block::make_sample;
using exact::block::ragged;
using exact::block::sample_kinds;
using exact::block::ThreadBlock;

constexpr std::uint32_t threads = 4;

// What all threads answer.
template <class Answer, class Call>
Answer by_threads(Call&& call) {
  std::array<Answer, threads> answers{};
  std::uint32_t next = 0;
  ThreadBlock::run(threads, [&](ThreadBlock& block) {
    const Answer answer = call(block);
    answers[std::atomic_ref(next).fetch_add(1)] = answer;
  });
  return answers[0];
}

Coded encode(const TileSample& sample) {
  const DenseMemory memory(sample.dtype);
  return exact::block::encode_with(
      [&](const EncodeCall& call) {
        return by_threads<CodedTile>(
            [&](ThreadBlock& block) { return encode_by(block, call, memory.view()); });
      },
      sample, {1, 0});
}

bool decode(const TileSample& sample, const Coded& coded, ByteVector& values) {
  const DenseMemory memory(sample.dtype);
  return exact::block::decode_with(
      [&](const DecodeCall& call) {
        return by_threads<bool>(
            [&](ThreadBlock& block) { return decode_by(block, call, memory.view()); });
      },
      sample.dtype, sample.extent, coded, {1, 0}, values);
}

class DenseBlockThreads : public testing::TestWithParam<DType> {};

TEST_P(DenseBlockThreads, GiveTheBytesOfTheHost) {
  for (const TileExtent extent : {extent_of(80, 64), ragged(2600, 23)}) {
    for (unsigned kind = 0; kind < sample_kinds; kind += 2) {
      const TileSample sample = make_sample(GetParam(), extent, kind, kind);
      const Coded host = dense_encode_on_host(sample);
      EXPECT_TRUE(encode(sample) == host) << sample.name() << " mode " << int{host.mode};
      ByteVector back;
      EXPECT_TRUE(decode(sample, host, back));
      EXPECT_TRUE(back == sample.values) << sample.name() << " mode " << int{host.mode};
      // A damaged tile leaves all threads at the same place too: else this would never end.
      Coded damaged = host;
      for (const auto part : {&Coded::body, &Coded::heap}) {
        ByteVector& bytes = damaged.*part;
        for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 3) {
          bytes[i] ^= std::byte{0x11};
          ByteVector by_host;
          const bool ok = dense_decode_on_host(sample.dtype, extent, damaged, by_host);
          EXPECT_EQ(decode(sample, damaged, back), ok);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, DenseBlockThreads,
                         testing::Values(DType::bf16, DType::fp16, DType::fp32, DType::fp64,
                                         DType::fp8_e5m2),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace offramp::exact_dense::block
