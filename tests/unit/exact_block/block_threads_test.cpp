// SPDX-License-Identifier: Apache-2.0
// The block code on true threads, for TSan: between two barriers no thread may write what another
// reads. Results are compared as well.
#include "block_fixture.hpp"
#include "contract/tensor_samples.hpp"
#include "thread_block.hpp"

#include <gtest/gtest.h>

#include <array>

namespace offramp::exact::block {
namespace {

constexpr std::uint32_t threads = 4;

// What all threads answer.
template <class Answer, class Call>
Answer by_threads(const Call& call) {
  std::array<Answer, threads> answers{};
  std::uint32_t next = 0;
  ThreadBlock::run(threads, [&](ThreadBlock& block) {
    const Answer answer = call.by(block);
    answers[std::atomic_ref(next).fetch_add(1)] = answer;
  });
  return answers[0];
}

class ExactBlockThreads : public testing::TestWithParam<DType> {};

TEST_P(ExactBlockThreads, GiveTheBytesOfTheHost) {
  for (const TileExtent extent : {extent_of(80, 64), ragged(2600, 23)}) {
    for (unsigned kind = 0; kind < sample_kinds; ++kind) {
      const TileSample sample = make_sample(GetParam(), extent, kind, kind);
      const Coded host = encode_on_host(sample);
      const Coded coded = encode_with(by_threads<CodedTile, EncodeCall>, sample, {1, 0});
      EXPECT_TRUE(coded == host) << sample.name() << " mode " << int{host.mode};
      ByteVector back;
      EXPECT_TRUE(
          decode_with(by_threads<bool, DecodeCall>, sample.dtype, extent, host, {1, 0}, back));
      EXPECT_TRUE(back == sample.values) << sample.name() << " mode " << int{host.mode};
      // A damaged tile leaves all threads at the same place too: else this would never end.
      Coded damaged = host;
      for (std::size_t i = 0; i < damaged.body.size(); i += 1 + damaged.body.size() / 6) {
        damaged.body[i] ^= std::byte{0x11};
        ByteVector by_host;
        const bool ok = decode_on_host(sample.dtype, extent, damaged, by_host);
        EXPECT_EQ(
            decode_with(by_threads<bool, DecodeCall>, sample.dtype, extent, damaged, {1, 0}, back),
            ok);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, ExactBlockThreads,
                         testing::ValuesIn(testing_samples::all_dtypes()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace offramp::exact::block
