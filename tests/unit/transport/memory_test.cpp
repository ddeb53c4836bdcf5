// SPDX-License-Identifier: Apache-2.0
#include "contract/tensor_set.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/memory_sink.hpp>
#include <offramp/transport/memory_source.hpp>

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(Memory, a_source_refuses_views_that_contradict_themselves) {
  const std::vector<std::byte> bytes(8);
  const TensorView whole{{DType::fp32, {2}}, bytes};
  EXPECT_NO_THROW(MemorySource({{"a", whole}}));
  EXPECT_THROW(MemorySource({{"a", {{DType::fp32, {3}}, bytes}}}), LogicError);
  EXPECT_THROW(MemorySource({{"a", {{DType::u8, {1ull << 32, 1ull << 32}}, {}}}}), LogicError);
  EXPECT_THROW(MemorySource({{"a", whole}, {"a", whole}}), LogicError);
}

TEST(Memory, a_sink_writes_into_the_callers_buffers_and_nowhere_else) {
  const TensorSet set = sample_tensors(true);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::span<std::byte>> spans;
  for (const auto& bytes : set.bytes) buffers.emplace_back(bytes.size() + 2, std::byte{0xA5});
  for (auto& buffer : buffers) spans.push_back(std::span(buffer).subspan(1, buffer.size() - 2));
  MemorySink sink(spans);
  set.write_to(sink);
  for (std::size_t i = 0; i < set.bytes.size(); ++i) {
    EXPECT_EQ(buffers[i].front(), std::byte{0xA5});
    EXPECT_EQ(buffers[i].back(), std::byte{0xA5});
    EXPECT_TRUE(std::ranges::equal(spans[i], set.bytes[i]));
    EXPECT_EQ(sink.bytes(i).data(), spans[i].data());
  }
  EXPECT_EQ(sink.metadata(), set.metadata);
}

TEST(Memory, buffers_that_do_not_fit_are_refused) {
  TensorSet set;
  set.add("a", DType::fp32, {4});
  std::vector<std::byte> buffer(16);
  MemorySink none(std::vector<std::span<std::byte>>{});
  EXPECT_EQ(data_error_of([&] { set.write_to(none); }).code, ErrorCode::mismatch);
  MemorySink small(std::vector{std::span(buffer).first(15)});
  EXPECT_EQ(data_error_of([&] { set.write_to(small); }).code, ErrorCode::mismatch);
  MemorySink fits(std::vector{std::span(buffer)});
  EXPECT_NO_THROW(set.write_to(fits));
}

TEST(Memory, announced_sizes_are_held_to_the_limit) {
  const std::vector<TensorInfo> tensors{{"a", {DType::u8, {60}}}, {"b", {DType::u8, {41}}}};
  MemorySink limited(100);
  EXPECT_EQ(data_error_of([&] { limited.begin(tensors, {}); }).code, ErrorCode::limit_exceeded);
  MemorySink enough(101);
  EXPECT_NO_THROW(enough.begin(tensors, {}));
}

TEST(Memory, a_size_that_no_machine_has_is_out_of_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the program where an allocation cannot be";
#endif
  const std::vector<TensorInfo> large{{"large", {DType::u8, {1ull << 62}}}};
  MemorySink unlimited;
  EXPECT_THROW(unlimited.begin(large, {}), OutOfMemory);
}

TEST(Memory, a_sink_is_read_after_finish) {
  TensorSet set;
  set.add("a", DType::u8, {1});
  MemorySink sink;
  EXPECT_THROW(static_cast<void>(sink.bytes(0)), LogicError);
  sink.begin(set.infos, {});
  EXPECT_THROW(static_cast<void>(sink.tensors()), LogicError);
  sink.write(0, 0, set.bytes[0]);
  sink.finish();
  EXPECT_EQ(sink.tensors().size(), 1u);
  EXPECT_THROW(static_cast<void>(sink.bytes(1)), LogicError);
}

}  // namespace
}  // namespace offramp
