// SPDX-License-Identifier: Apache-2.0
// What a frame writer does on every device. Give a function that names the device, or nullptr where
// it is absent.
#pragma once

#include "contract/device_kit.hpp"
#include "contract/frames/frame_samples.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/frame_writer.hpp>
#include <offramp/frames/convert.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace offramp::testing_frame_writer {

using testing_frames::Bytes;
using testing_frames::Layout;
using testing_frames::Sample;

/// Takes every format and keeps every frame; codes by turning all bits round.
class VectorSink final : public FrameSink {
 public:
  explicit VectorSink(bool codes) : codes_(codes) {}
  std::span<const PixelFormat> formats() const noexcept override {
    return testing_frames::all_pixels;
  }
  void begin(const FrameFormat&) override {}
  bool codes_alone() const noexcept override { return codes_; }
  void encode(std::span<const std::byte> frame, std::vector<std::byte>& out) const override {
    out.resize(frame.size());
    std::ranges::transform(frame, out.begin(), [](std::byte byte) { return ~byte; });
  }
  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    in_order = in_order && number == count;
    ++count;
    if (!keeps) return;
    frames.emplace_back(bytes.begin(), bytes.end());
    if (codes_) std::ranges::transform(frames.back(), frames.back().begin(), std::bit_not<>());
  }
  void finish() override {}
  std::uint64_t bytes_out() const noexcept override { return 0; }
  std::uint64_t frames_out() const noexcept override { return count; }

  std::vector<Bytes> frames;
  std::uint64_t count{0};
  bool keeps{true};
  bool in_order{true};
  std::chrono::milliseconds delay{0};

 private:
  const bool codes_;
};

class FrameWriterContract : public testing::TestWithParam<Device* (*)()> {
 protected:
  void SetUp() override {
    if (!GetParam()()) GTEST_SKIP() << "no such device here; " << testing_device::absent_devices();
    stream = device().make_stream();
  }

  Device& device() { return *GetParam()(); }

  /// A sample in the device's memory.
  struct OnDevice {
    Buffer buffer;
    FrameView view;
  };
  OnDevice put(const Sample& sample) {
    Buffer buffer(stream, device().memory(), sample.bytes.size());
    copy(buffer.data(), sample.bytes.data(), sample.bytes.size());
    const FrameView view = sample.at(buffer.data());
    return {.buffer = std::move(buffer), .view = view};
  }
  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    device().copy_async(stream, {.to = to, .from = from, .size = size});
    stream.ref().sync();
  }

  static Sample sample(std::uint64_t frames, std::uint64_t seed, DType dtype = DType::bf16,
                       Layout layout = Layout::cnhw, testing_frames::Size size = usual) {
    return testing_frames::make_sample({.dtype = dtype,
                                        .layout = layout,
                                        .size = size,
                                        .frames = frames,
                                        .channels = 3,
                                        .range = {.low = -1, .high = 1},
                                        .seed = seed});
  }
  static FrameFormat format(PixelFormat pixels, testing_frames::Size size = usual) {
    FrameFormat format;
    format.pixels = pixels;
    format.width = size.width;
    format.height = size.height;
    return format;
  }
  FrameWriterSettings settings(const FrameFormat& of) {
    FrameWriterSettings with;
    with.device = &device();
    with.slot_size = 2 * of.size();
    with.threads = 2;
    return with;
  }
  void expect(const FrameView& host_view, const FrameFormat& to) {
    for (std::uint64_t at = 0; at < host_view.frames; ++at) {
      convert(host_view.slice(at, 1), to, expected.emplace_back(to.size()).data());
    }
  }
  void check(const VectorSink& sink) {
    ASSERT_EQ(sink.frames.size(), expected.size());
    EXPECT_TRUE(sink.in_order);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(sink.frames[at], expected[at]) << "frame " << at;
    }
  }

  static constexpr testing_frames::Size usual{.width = 33, .height = 19};
  Stream stream;
  std::vector<Bytes> expected;
};

TEST_P(FrameWriterContract, EveryKindOfFrameComesOutAsConvertMakesIt) {
  for (const PixelFormat pixels :
       {PixelFormat::rgb24, PixelFormat::rgb48, PixelFormat::yuv420p, PixelFormat::yuv444p10}) {
    for (const bool codes : {false, true}) {
      expected.clear();
      const auto sink = std::make_shared<VectorSink>(codes);
      FrameWriter writer(settings(format(pixels)), format(pixels), sink);
      std::uint64_t seed = 1;
      for (const DType dtype : testing_frames::all_sources) {
        for (const Layout layout : testing_frames::all_layouts) {
          const Sample from = sample(1 + seed % 4, seed, dtype, layout);
          ++seed;
          auto there = std::make_shared<OnDevice>(put(from));
          const FrameView view = there->view;
          writer.submit(stream, view, std::move(there));
          expect(from.view, format(pixels));
        }
      }
      writer.close();
      check(*sink);
      EXPECT_EQ(writer.counters().pageable_copies, 0u);
    }
  }
}

TEST_P(FrameWriterContract, SourcesOnTheHostComeOutTheSame) {
  const FrameFormat to = format(PixelFormat::rgb24);
  const Sample from = sample(7, 1);
  const HostSlab slab(device(), {.slots = 1, .slot_size = from.bytes.size()});
  std::ranges::copy(from.bytes, slab.slot(0).begin());
  for (const std::size_t device_slots : {2u, 0u}) {
    expected.clear();
    const auto sink = std::make_shared<VectorSink>(false);
    auto with = settings(to);
    with.device_slots = device_slots;
    FrameWriter writer(with, to, sink);
    const OnDevice there = put(from);
    for (int round = 0; round < 5; ++round) {
      writer.submit(stream, from.view);
      writer.submit(stream, from.at(slab.slot(0).data()));
      writer.submit(stream, there.view);
      for (int at = 0; at < 3; ++at) expect(from.view, to);
    }
    writer.close();
    check(*sink);
    EXPECT_EQ(writer.counters().pageable_copies,
              device().is_pageable(from.bytes.data()) ? 5u * 4 : 0u);
  }
}

TEST_P(FrameWriterContract, FinishedFramesGoInBetween) {
  const FrameFormat to = format(PixelFormat::yuv420p);
  const auto sink = std::make_shared<VectorSink>(true);
  FrameWriter writer(settings(to), to, sink);
  const Sample from = sample(9, 1);
  const OnDevice there = put(from);
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<FrameWriter::Slot> slots;
    for (int at = 0; at < 3; ++at) slots.push_back(writer.acquire());
    writer.submit(stream, there.view);
    expect(from.view, to);
    for (FrameWriter::Slot& slot : slots) {
      convert(from.view.slice(round % 8, 2), to, slot.bytes().data());
      writer.submit(std::move(slot), 2);
      expect(from.view.slice(round % 8, 2), to);
    }
  }
  writer.close();
  check(*sink);
}

// The source is written over as soon as its ticket says that it may be.
TEST_P(FrameWriterContract, ASourceMayBeReusedOnceItIsStaged) {
  constexpr testing_frames::Size large{.width = 640, .height = 360};
  const FrameFormat to = format(PixelFormat::rgb24, large);
  const auto sink = std::make_shared<VectorSink>(false);
  auto with = settings(to);
  with.slot_size = 0;
  FrameWriter writer(with, to, sink);
  const Sample one = sample(3, 1, DType::bf16, Layout::cnhw, large);
  const Sample two = sample(3, 2, DType::bf16, Layout::cnhw, large);
  const OnDevice there = put(one);
  const OnDevice spare = put(two);
  const OnDevice first = put(one);
  for (int round = 0; round < 20; ++round) {
    const bool even = round % 2 == 0;
    // Enqueued, not waited for: the writer has to.
    device().copy_async(stream, {.to = there.buffer.data(),
                                 .from = (even ? first : spare).buffer.data(),
                                 .size = there.buffer.size()});
    EXPECT_TRUE(writer.submit(stream, there.view).wait_staged());
  }
  writer.close();
  for (int round = 0; round < 20; ++round) expect((round % 2 == 0 ? one : two).view, to);
  check(*sink);
}

TEST_P(FrameWriterContract, NeitherTheProducerNorItsStreamWaits) {
  const FrameFormat to = format(PixelFormat::rgb24);
  const auto sink = std::make_shared<VectorSink>(false);
  FrameWriter writer(settings(to), to, sink);
  const Sample from = sample(40, 1);
  const OnDevice there = put(from);
  testing_device::Latch latch(stream, device());
  Ticket last;
  for (int at = 0; at < 4; ++at) {
    last = writer.submit(stream, there.view);  // of 20 slots each, where there are 2 and 4
    expect(from.view, to);
  }
  EXPECT_EQ(last.state(), Ticket::State::submitted);
  EXPECT_EQ(writer.counters().stalls, 0u);
  latch.open();
  writer.close();
  check(*sink);
}

TEST_P(FrameWriterContract, ADestroyedWriterLetsGoOfEverySource) {
  const FrameFormat to = format(PixelFormat::rgb24);
  const Sample from = sample(9, 1);
  for (int round = 0; round < 10; ++round) {
    const auto sink = std::make_shared<VectorSink>(round % 2 == 0);
    sink->delay = std::chrono::milliseconds(1);
    std::weak_ptr<OnDevice> watch;
    {
      FrameWriter writer(settings(to), to, sink);
      for (int at = 0; at < 3; ++at) {
        const auto there = std::make_shared<OnDevice>(put(from));
        watch = there;
        writer.submit(stream, there->view, there);
      }
      if (round % 3 == 0) writer.cancel();
    }
    EXPECT_TRUE(watch.expired());
  }
}

TEST_P(FrameWriterContract, DropsAndCountsWhereItMay) {
  const FrameFormat to = format(PixelFormat::rgb24);
  const auto sink = std::make_shared<VectorSink>(false);
  sink->delay = std::chrono::milliseconds(1);
  auto with = settings(to);
  with.overflow = Overflow::drop;
  FrameWriter writer(with, to, sink);
  const OnDevice there = put(sample(3, 1));
  for (int at = 0; at < 100; ++at) writer.submit(stream, there.view);
  writer.close();
  const Counters counters = writer.counters();
  EXPECT_GT(counters.chunks_dropped, 0u);
  EXPECT_EQ(counters.chunks_in, 100u);
  EXPECT_EQ(counters.chunks_in, counters.chunks_out + counters.chunks_dropped);
  EXPECT_EQ(sink->frames.size(), 3 * counters.chunks_out);
}

}  // namespace offramp::testing_frame_writer
