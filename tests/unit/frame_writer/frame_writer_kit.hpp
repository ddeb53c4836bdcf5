// SPDX-License-Identifier: Apache-2.0
// What the frame writer's tests share: a sink that misbehaves on command, and frames.
#pragma once

#include "contract/device_kit.hpp"
#include "contract/frames/frame_samples.hpp"
#include "unit/engine/leaky_device.hpp"

#include <offramp/engine/frame_writer.hpp>
#include <offramp/frames/convert.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

namespace offramp::testing_frame_writer {

using namespace std::chrono_literals;
using testing_device::Latch;
using testing_engine::eventually;
using testing_engine::Gate;
using testing_engine::LeakyDevice;
using testing_engine::LeftOut;
using testing_frames::Bytes;
using testing_frames::Layout;
using testing_frames::Sample;

/// What KeepingFrameSink makes of a frame where it codes: never of the frame's size.
inline Bytes coded(std::span<const std::byte> frame) {
  Bytes out(frame.begin(), frame.end());
  for (std::byte& byte : out) byte ^= std::byte{0x5a};
  out.push_back(std::byte{1});
  return out;
}

/// A sink that keeps what it is given, behind a gate, and throws where it is told to.
class KeepingFrameSink final : public FrameSink {
 public:
  explicit KeepingFrameSink(bool codes = false) : codes_(codes) {}
  ~KeepingFrameSink() override {
    if (when_gone) when_gone();
  }

  std::span<const PixelFormat> formats() const noexcept override {
    static constexpr std::array all{PixelFormat::rgb24, PixelFormat::yuv420p,
                                    PixelFormat::yuv444p10};
    return all;
  }
  void begin(const FrameFormat& format) override {
    if (throw_at_begin) throw std::runtime_error("the sink did not begin");
    begun = format;
  }
  bool codes_alone() const noexcept override { return codes_; }
  void encode(std::span<const std::byte> frame, std::vector<std::byte>& out) const override {
    encode_gate.pass();
    if (encoded++ == throw_at_encode) throw std::runtime_error("the encoder broke");
    out.clear();
    for (const std::byte byte : frame) out.push_back(byte ^ std::byte{0x5a});
    out.push_back(std::byte{1});
  }
  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    if (writing.exchange(true)) overlapped = true;
    gate.pass();
    if (number != frames.size()) out_of_order = true;
    if (number == throw_at) throw std::runtime_error("the sink broke");
    frames.emplace_back(bytes.begin(), bytes.end());
    ++written;
    writing = false;
  }
  void finish() override {
    finish_gate.pass();
    if (throw_at_finish) throw std::runtime_error("the sink broke at the end");
    finished = true;
  }
  void keep_partial() noexcept override { kept = true; }
  std::uint64_t bytes_out() const noexcept override { return 0; }
  std::uint64_t frames_out() const noexcept override { return frames.size() - lost; }

  Gate gate;
  mutable Gate encode_gate;
  Gate finish_gate;
  bool throw_at_begin{false};
  std::size_t throw_at{SIZE_MAX};
  std::size_t throw_at_encode{SIZE_MAX};
  bool throw_at_finish{false};
  std::size_t lost{0};  // frames that its count lacks
  std::function<void()> when_gone{};

  std::vector<Bytes> frames;  // read it only when the writer is closed
  std::optional<FrameFormat> begun;
  bool finished{false};
  bool kept{false};
  bool out_of_order{false};
  std::atomic<bool> overlapped{false};  // two writes at a time
  std::atomic<bool> writing{false};
  std::atomic<std::size_t> written{0};
  mutable std::atomic<std::size_t> encoded{0};

 private:
  const bool codes_;
};

inline constexpr testing_frames::Size small{.width = 18, .height = 10};

inline FrameFormat small_format(PixelFormat pixels = PixelFormat::rgb24) {
  FrameFormat format;
  format.pixels = pixels;
  format.width = small.width;
  format.height = small.height;
  return format;
}

inline Sample frames_of(std::uint64_t count, std::uint64_t seed, DType dtype = DType::fp32,
                        Layout layout = Layout::nhwc, testing_frames::Size size = small) {
  return testing_frames::make_sample({.dtype = dtype,
                                      .layout = layout,
                                      .size = size,
                                      .frames = count,
                                      .channels = 3,
                                      .range = {.low = -1, .high = 1},
                                      .seed = seed});
}

/// Adds the frames that have to come out for these.
inline void expect_frames(std::vector<Bytes>& expected, const FrameView& view,
                          const FrameFormat& format, bool codes) {
  for (std::uint64_t at = 0; at < view.frames; ++at) {
    Bytes frame(format.size());
    convert(view.slice(at, 1), format, frame.data());
    expected.push_back(codes ? coded(frame) : std::move(frame));
  }
}

/// Where the frames are, and what the sink does.
struct Case {
  std::size_t device_slots{};  // 0: the host device itself
  bool codes{};
};

inline void PrintTo(const Case& kind, std::ostream* out) {
  *out << kind.device_slots << " device slots" << (kind.codes ? ", coded" : "");
}

inline std::string name_of_case(const testing::TestParamInfo<Case>& test) {
  return std::string(test.param.device_slots > 0 ? "DeviceSlots" : "Host") +
         (test.param.codes ? "Coded" : "");
}

class FrameWriterBase : public testing::TestWithParam<Case> {
 protected:
  FrameWriterBase() {
    leaky.latency = 20us;
    stream = device().make_stream();
    sink = new_sink();
  }

  Device& device() { return GetParam().device_slots > 0 ? leaky : host_device(); }
  bool codes() const { return GetParam().codes; }
  std::shared_ptr<KeepingFrameSink> new_sink() const {
    return std::make_shared<KeepingFrameSink>(codes());
  }

  /// Slots of two frames, so that submits are cut.
  FrameWriterSettings settings() {
    FrameWriterSettings with;
    with.device = &device();
    with.slot_size = 2 * small_format().size() + 5;
    with.submits = 3;
    with.device_slots = GetParam().device_slots;
    with.host_slots = 4;
    with.threads = 2;
    return with;
  }
  FrameWriter writer() { return writer(settings()); }
  FrameWriter writer(FrameWriterSettings with) {
    return FrameWriter(std::move(with), small_format(), sink);
  }
  void expect(const FrameView& view) { expect_frames(expected, view, small_format(), codes()); }
  void check() {
    ASSERT_EQ(sink->frames.size(), expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(sink->frames[at], expected[at]) << "frame " << at;
    }
    EXPECT_FALSE(sink->overlapped);
    EXPECT_FALSE(sink->out_of_order);
  }

  LeakyDevice leaky{LeftOut::nothing};
  Stream stream;
  std::shared_ptr<KeepingFrameSink> sink;
  std::vector<Bytes> expected;
};

}  // namespace offramp::testing_frame_writer
