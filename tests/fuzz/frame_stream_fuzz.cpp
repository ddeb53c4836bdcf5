// SPDX-License-Identifier: Apache-2.0
// Frames of untrusted bytes, from a file or a pipe. The first byte says how: bit 0 y4m or raw, bit
// 1 a pipe. Of raw frames there follow the format, then width and height of two bytes each.
#include "transport/frame_raw/frame_raw_source.hpp"
#include "transport/y4m/y4m_source.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace offramp;

constexpr std::size_t most_in_pipe = 60'000;   // less than one holds, as nobody reads meanwhile
constexpr std::size_t largest_read = 1 << 20;  // of a frame; larger ones are only announced

void expect(bool condition) {
  if (!condition) std::abort();
}

// The bytes behind a path, which lasts as long as the object.
class Behind {
 public:
  Behind(std::string_view bytes, bool pipe) {
    if (pipe) {
      expect(::pipe(ends_.data()) == 0);
    } else {
      ends_[0] = ::memfd_create("frames", 0);
      expect(ends_[0] >= 0);
    }
    expect(::write(pipe ? ends_[1] : ends_[0], bytes.data(), bytes.size()) ==
           static_cast<ssize_t>(bytes.size()));
    if (pipe) ::close(ends_[1]);
  }
  ~Behind() { ::close(ends_[0]); }
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", ends_[0]); }

 private:
  std::array<int, 2> ends_{};
};

struct Frames {
  std::string bytes{};
  std::size_t count{};
  bool whole{};  // it ended behind a frame
};

Frames read_all(FrameSource& source) {
  Frames all;
  const std::size_t size = source.format().size();
  if (size > largest_read) return all;
  std::vector<std::byte> frame(size);
  try {
    while (source.read(frame)) {
      all.bytes.append(reinterpret_cast<const char*>(frame.data()), size);
      ++all.count;
    }
    all.whole = true;
  } catch (const DataError& error) {
    expect(!error.error().what.empty());
  }
  return all;
}

void expect_sound(const FrameFormat& format) {
  expect(format.width > 0 && format.width <= longest_frame_side);
  expect(format.height > 0 && format.height <= longest_frame_side);
  expect(format.size() > 0 && format.size() <= largest_frame_size);
  expect(format.rate.num > 0 && format.rate.den > 0);
}

std::string_view colors_of(PixelFormat pixels) {
  switch (pixels) {
    case PixelFormat::yuv420p:
      return "420";
    case PixelFormat::yuv444p:
      return "444";
    case PixelFormat::yuv420p10:
      return "420p10";
    case PixelFormat::yuv444p10:
      return "444p10";
    case PixelFormat::gray8:
      return "mono";
    default:
      return "mono16";
  }
}

// Written again, what was understood says the same.
void expect_same_again(const FrameFormat& format, bool has_range) {
  std::string line = fmt::format("YUV4MPEG2 W{} H{} F{}:{} C{}", format.width, format.height,
                                 format.rate.num, format.rate.den, colors_of(format.pixels));
  if (has_range) {
    line += format.range == ColorRange::full ? " XCOLORRANGE=FULL" : " XCOLORRANGE=LIMITED";
  }
  const auto again = parse_y4m_header(line);
  expect(again.has_value() && again->format == format && again->has_range == has_range);
}

void try_y4m(std::string_view bytes, const std::string& path) {
  const std::size_t end = bytes.substr(0, FrameInput::head_room).find('\n');
  const auto header = parse_y4m_header(bytes.substr(0, end));
  if (header) {
    expect_sound(header->format);
    expect_same_again(header->format, header->has_range);
  } else {
    expect(!header.error().what.empty());
  }
  try {
    Y4mSource source(FrameInput(path), {});
    expect(header.has_value() && end != std::string_view::npos);
    expect(source.format() == header->format);
    const Frames all = read_all(source);
    expect(all.count * (6 + source.format().size()) <= bytes.size() - end - 1);
    if (all.whole && all.count == 0) expect(bytes.size() == end + 1);
  } catch (const DataError& error) {
    expect(!header || end == std::string_view::npos);
    expect(!error.error().what.empty());
  }
}

void try_raw(std::string_view bytes, const std::string& path, const FrameSourceOptions& options) {
  try {
    FrameRawSource source(FrameInput(path), options);
    const std::size_t size = source.format().size();
    expect_sound(source.format());
    if (const auto count = source.count()) expect(*count == (bytes.size() + size - 1) / size);
    if (size > largest_read) return;
    const Frames all = read_all(source);
    expect(all.whole == (bytes.size() % size == 0));
    expect(all.bytes == bytes.substr(0, bytes.size() / size * size));
  } catch (const DataError& error) {
    expect(!error.error().what.empty());
  }
}

std::uint32_t side_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])) |
         static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + 1])) << 8;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  const bool raw = (bytes[0] & 1) != 0;
  const bool pipe = (bytes[0] & 2) != 0 && size <= most_in_pipe;
  bytes.remove_prefix(1);
  if (!raw) {
    try_y4m(bytes, Behind(bytes, pipe).path());
    return 0;
  }
  if (bytes.size() < 5) return 0;
  const FrameSourceOptions options{
      .pixels = static_cast<PixelFormat>(static_cast<unsigned char>(bytes[0]) % pixel_format_count),
      .width = side_at(bytes, 1),
      .height = side_at(bytes, 3)};
  bytes.remove_prefix(5);
  try_raw(bytes, Behind(bytes, pipe).path(), options);
  return 0;
}
