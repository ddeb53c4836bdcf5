// SPDX-License-Identifier: Apache-2.0
#include "unit/engine/engine_kit.hpp"
#include "unit/engine/failing_new.hpp"

#include <offramp/core/error.hpp>

namespace offramp::testing_engine {
namespace {

/// Takes everything and keeps nothing, so that it allocates nothing.
class CountingSink final : public RecordSink {
 public:
  void write(const EncodedPart& part) override { bytes += part.payload.size(); }
  std::uint64_t bytes{0};
};

class AllocTest : public testing::TestWithParam<std::size_t> {
 protected:
  Stream stream = host_device().make_stream();
  Bytes source = smooth_bytes(3 * 4000, 1);
  std::string name = "model.layers.17.self_attn.a_name_that_needs_the_heap";

  void submit(Pipeline& pipeline) { submit_one(pipeline, stream, name, source); }
};

INSTANTIATE_TEST_SUITE_P(DeviceSlots, AllocTest, testing::Values(0, 2));

TEST_P(AllocTest, InSteadyStateNothingIsAllocated) {
  for (const auto& codec_name : codec_names()) {
    auto settings = small_settings(GetParam());
    settings.trace = std::make_shared<Trace>(100);
    Pipeline pipeline(settings, codec(codec_name), std::make_shared<CountingSink>());
    const auto run = [&](int chunks) {
      Ticket last;
      for (int at = 0; at < chunks; ++at) {
        submit(pipeline);
        const ChunkTensor small{.what = whole(name, bf16(10)), .data = source.data()};
        last = pipeline.submit(stream, {.tensors = {&small, 1}});
      }
      EXPECT_TRUE(last.wait_durable());
    };
    run(200);
    const std::size_t before = allocations();
    run(500);
    EXPECT_EQ(allocations() - before, 0u) << codec_name;
    EXPECT_EQ(pipeline.counters().regrown_buffers, 0u);
    pipeline.close();
  }
}

TEST_P(AllocTest, AFailedAllocationAnywhereEndsClean) {
  std::size_t failures = 0;
  for (std::size_t skip = 0; skip < 2000; ++skip) {
    const auto run = [&] {
      Pipeline pipeline(small_settings(GetParam()), codec(codec_names().back()),
                        std::make_shared<CountingSink>());
      for (int at = 0; at < 3; ++at) submit(pipeline);
      pipeline.close();
      return pipeline.counters().chunks_out;
    };
    fail_allocation_after(skip);
    try {
      const std::uint64_t chunks = run();
      fail_allocation_after(SIZE_MAX);
      EXPECT_EQ(chunks, 3u);
      if (skip > 0 && failures > 20) break;  // it never got to the failing one
    } catch (const std::bad_alloc&) {
      ++failures;
    } catch (const OutOfMemory&) {
      ++failures;
    } catch (const std::system_error&) {
      ++failures;  // a thread that could not start
    }
    ASSERT_TRUE(allocation_failed() || skip > 20);
    fail_allocation_after(SIZE_MAX);
  }
  EXPECT_GT(failures, 20u);
}

}  // namespace
}  // namespace offramp::testing_engine
