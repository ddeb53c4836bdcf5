// SPDX-License-Identifier: Apache-2.0
#include "contract/counting_new.hpp"
#include "contract/device_kit.hpp"
#include "contract/frames/frame_samples.hpp"

#include <offramp/core/error.hpp>
#include <offramp/frames/convert.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace offramp {
namespace {

using namespace testing_frames;
using testing_device::Latch;

TEST(ConvertAsync, HappensInTheOrderOfTheStream) {
  Device& device = host_device();
  const Stream stream = device.make_stream();
  Sample sample = make_sample({.size = {33, 5}, .frames = 2});
  const FrameFormat format = format_for(sample.view, PixelFormat::yuv420p);
  Bytes out(2 * format.size());
  Bytes later(out.size());
  {
    Latch latch(stream, device);
    convert_async(device, stream, sample.view, format, out.data());
    device.copy_async(stream, {later.data(), out.data(), out.size()});
    EXPECT_EQ(out, Bytes(out.size())) << "converted before the stream got there";
  }
  Bytes expected(out.size());
  convert(sample.view, format, expected.data());
  EXPECT_EQ(later, expected);
}

TEST(ConvertAsync, AllocatesNothingOnceAsManyWereUnderWay) {
  Device& device = host_device();
  const Stream stream = device.make_stream();
  const Sample sample = make_sample({.size = {33, 5}});
  const FrameFormat format = format_for(sample.view, PixelFormat::rgb24);
  constexpr std::size_t many = 20;
  std::vector<Bytes> out(many, Bytes(format.size()));
  const auto round = [&] {
    Latch latch(stream, device);
    for (Bytes& one : out) convert_async(device, stream, sample.view, format, one.data());
  };
  round();
  const std::size_t before = testing_samples::allocations();
  for (int again = 0; again < 10; ++again) round();
  EXPECT_EQ(testing_samples::allocations(), before);
}

TEST(ConvertAsync, FromSeveralThreadsAtOnce) {
  Device& device = host_device();
  const Sample sample = make_sample({.size = {33, 5}});
  const FrameFormat format = format_for(sample.view, PixelFormat::rgb24);
  Bytes expected(format.size());
  convert(sample.view, format, expected.data());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& bad : wrong) {
    threads.emplace_back([&] {
      const Stream stream = device.make_stream();
      for (int round = 0; round < 50; ++round) {
        std::vector<Bytes> out(5, Bytes(format.size()));
        for (Bytes& one : out) convert_async(device, stream, sample.view, format, one.data());
        stream.ref().sync();
        for (const Bytes& one : out) bad += one != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(ConvertAsync, ChecksWhenItIsCalled) {
  Device& device = host_device();
  const Stream stream = device.make_stream();
  Sample sample = make_sample({.size = {3, 2}});
  FrameFormat format = format_for(sample.view, PixelFormat::rgb24);
  Bytes out(format.size());
  EXPECT_THROW(convert_async(device, stream, sample.view, format, nullptr), LogicError);
  format.width = 4;
  EXPECT_THROW(convert_async(device, stream, sample.view, format, out.data()), LogicError);
  format.width = 3;
  sample.view.data = nullptr;
  EXPECT_THROW(convert_async(device, stream, sample.view, format, out.data()), LogicError);
  sample.view.frames = 0;
  EXPECT_NO_THROW(convert_async(device, stream, sample.view, format, out.data()));
}

}  // namespace
}  // namespace offramp
