// SPDX-License-Identifier: Apache-2.0
// A GPU computes what the host computes. The cells are IEEE operations in one order, none
// contracted, so the bits are the same; the test says how far apart they are where they are not.
#include <offramp/core/buffer.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/generators/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace offramp {
namespace {

std::vector<float> compute(Device& device, std::string_view name, GeneratorSettings settings,
                           std::uint64_t frames) {
  const Stream stream = device.make_stream();
  const auto generator = make_generator(name, device, stream, settings);
  const std::size_t size = frames * generator->frame_size();
  const Buffer out(stream, device.memory(), size);
  static_cast<void>(generator->next_async(1, out.data()));
  static_cast<void>(generator->next_async(frames - 1, out.data() + generator->frame_size()));
  std::vector<float> host(size / sizeof(float));
  device.copy_async(stream, {reinterpret_cast<std::byte*>(host.data()), out.data(), size});
  stream.ref().sync();
  return host;
}

class CudaGenerators : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaGenerators, ComputeWhatTheHostComputes) {
  const auto found = find_device("cuda:0");
  if (!found) GTEST_SKIP() << found.error().message();
  for (const auto& [width, height] : {std::pair{1u, 1u}, {97u, 61u}, {416u, 240u}}) {
    const GeneratorSettings settings{.width = width, .height = height};
    const auto expected = compute(host_device(), GetParam(), settings, 30);
    const auto got = compute(**found, GetParam(), settings, 30);
    ASSERT_EQ(got.size(), expected.size());
    float apart = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      apart = std::max(apart, std::abs(got[i] - expected[i]));
    EXPECT_EQ(apart, 0.0f) << width << "x" << height;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const GeneratorRow& row : generator_table()) all.emplace_back(row.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, CudaGenerators, ::testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace offramp
