// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/stream_sinks.hpp"

#include "core/checks.hpp"

#include <fmt/format.h>

#include <array>

namespace offramp {
namespace {

constexpr std::array all_formats{
    PixelFormat::rgb24,     PixelFormat::rgba32,   PixelFormat::gray8,   PixelFormat::gray16,
    PixelFormat::rgb48,     PixelFormat::rgba64,   PixelFormat::yuv420p, PixelFormat::yuv444p,
    PixelFormat::yuv420p10, PixelFormat::yuv444p10};

constexpr std::array y4m_formats{PixelFormat::yuv420p, PixelFormat::yuv444p, PixelFormat::yuv420p10,
                                 PixelFormat::yuv444p10, PixelFormat::gray8};

static_assert(all_formats.size() == pixel_format_count);

class RawFrameSink final : public FrameFileSink {
 public:
  using FrameFileSink::FrameFileSink;
  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return all_formats;
  }

 private:
  [[nodiscard]] std::string_view kind() const noexcept override { return "a raw file"; }
  [[nodiscard]] std::string front(const FrameFormat&) override { return {}; }
};

// The names are those of mjpegtools and FFmpeg; mpeg2 is the siting of chroma that conversion
// makes.
std::string_view y4m_colors(PixelFormat pixels) {
  switch (pixels) {
    case PixelFormat::yuv420p:
      return "420mpeg2";
    case PixelFormat::yuv444p:
      return "444";
    case PixelFormat::yuv420p10:
      return "420p10 XYSCSS=420P10";
    case PixelFormat::yuv444p10:
      return "444p10 XYSCSS=444P10";
    default:
      return "mono";
  }
}

class Y4mSink final : public FrameFileSink {
 public:
  using FrameFileSink::FrameFileSink;
  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return y4m_formats;
  }

 private:
  [[nodiscard]] std::string_view kind() const noexcept override { return "y4m"; }
  [[nodiscard]] std::string front(const FrameFormat& format) override {
    // Gray has all codes; of Y'CbCr the range is a tag that FFmpeg reads, and the matrix is not
    // told.
    const bool full = !is_yuv(format.pixels) || format.range == ColorRange::full;
    return fmt::format("YUV4MPEG2 W{} H{} F{}:{} Ip A1:1 C{} XCOLORRANGE={}\n", format.width,
                       format.height, format.rate.num, format.rate.den, y4m_colors(format.pixels),
                       full ? "FULL" : "LIMITED");
  }
  [[nodiscard]] std::string_view prefix() const noexcept override { return "FRAME\n"; }
};

class NullFrameSink final : public FrameSink {
 public:
  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return all_formats;
  }
  void begin(const FrameFormat&) override {}
  void write(std::uint64_t number, std::span<const std::byte>) override {
    OFFRAMP_EXPECTS(number == frames_, "frames come in order");
    ++frames_;
  }
  void finish() override {}
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return frames_; }

 private:
  std::uint64_t frames_{};
};

}  // namespace

std::unique_ptr<FrameSink> make_raw_frame_sink(FrameTarget target) {
  return std::make_unique<RawFrameSink>(std::move(target));
}
std::unique_ptr<FrameSink> make_y4m_sink(FrameTarget target) {
  return std::make_unique<Y4mSink>(std::move(target));
}
std::unique_ptr<FrameSink> make_null_frame_sink() { return std::make_unique<NullFrameSink>(); }

}  // namespace offramp
