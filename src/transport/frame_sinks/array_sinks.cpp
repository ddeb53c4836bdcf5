// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/array_sinks.hpp"

#include "core/checks.hpp"

#include <offramp/core/dtype.hpp>

#include <fmt/format.h>

#include <array>

namespace offramp {
namespace {

constexpr std::array array_formats{PixelFormat::rgb24, PixelFormat::rgba32, PixelFormat::gray8,
                                   PixelFormat::rgb48, PixelFormat::rgba64, PixelFormat::gray16};

// The longest number of frames, so that the header has room for any.
constexpr std::uint64_t most_frames = 999'999'999'999;

// A header of the same size for any number of frames.
class ArraySink : public FrameFileSink {
 public:
  using FrameFileSink::FrameFileSink;
  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return array_formats;
  }

 protected:
  [[nodiscard]] virtual std::string header(std::uint64_t frames) const = 0;

  [[nodiscard]] DType dtype() const noexcept {
    return bits_of(format().pixels) == 16 ? DType::u16 : DType::u8;
  }
  [[nodiscard]] std::string extents(std::uint64_t frames, std::string_view separator) const {
    std::string text =
        fmt::format("{}{}{}{}{}", frames, separator, format().height, separator, format().width);
    const int channels = channels_of(format().pixels);
    if (channels > 1) text += fmt::format("{}{}", separator, channels);
    return text;
  }

 private:
  // A killed job leaves the header of an empty array: readers see no frame that is not there.
  [[nodiscard]] std::string front(const FrameFormat&) override { return header(0); }
  void complete(OutputFile& file, std::uint64_t frames) override {
    OFFRAMP_EXPECTS(frames <= most_frames, "more frames than a header has room for");
    if (target().is_standard_output()) return;  // refused before
    const std::string text = header(frames);
    file.write_at(0, std::as_bytes(std::span(text)));
  }
};

class NpyFrameSink final : public ArraySink {
 public:
  using ArraySink::ArraySink;

 private:
  [[nodiscard]] std::string_view kind() const noexcept override { return "npy"; }
  // NumPy's format, version 1.0: the text is padded so that the values begin at 128 bytes.
  [[nodiscard]] std::string header(std::uint64_t frames) const override {
    constexpr std::size_t size = 128;
    const std::string_view type = dtype() == DType::u16 ? "<u2" : "|u1";
    const std::string text = fmt::format(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, extents(frames, ", "));
    constexpr std::size_t room = size - 10;
    std::string out("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(room & 0xff);
    out += static_cast<char>(room >> 8);
    out += fmt::format("{:<{}}\n", text, room - 1);
    OFFRAMP_EXPECTS(out.size() == size, "the header of an npy file is too long");
    return out;
  }
};

class SafetensorsFrameSink final : public ArraySink {
 public:
  using ArraySink::ArraySink;

 private:
  [[nodiscard]] std::string_view kind() const noexcept override { return "safetensors"; }
  // A length of 8 bytes, then JSON padded with blanks, which the format allows.
  [[nodiscard]] std::string header(std::uint64_t frames) const override {
    constexpr std::size_t room = 248;
    const std::string text = fmt::format(
        R"({{"__metadata__":{{"fps":"{}/{}","layout":"{}"}},"frames":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
        format().rate.num, format().rate.den, channels_of(format().pixels) > 1 ? "nhwc" : "nhw",
        dtype() == DType::u16 ? "U16" : "U8", extents(frames, ","), frames * format().size());
    std::string out(8, '\0');
    out[0] = static_cast<char>(room);
    out += fmt::format("{:<{}}", text, room);
    OFFRAMP_EXPECTS(out.size() == 8 + room, "the header of a safetensors file is too long");
    return out;
  }
};

}  // namespace

std::unique_ptr<FrameSink> make_npy_frame_sink(FrameTarget target) {
  return std::make_unique<NpyFrameSink>(std::move(target));
}
std::unique_ptr<FrameSink> make_safetensors_frame_sink(FrameTarget target) {
  return std::make_unique<SafetensorsFrameSink>(std::move(target));
}

}  // namespace offramp
