// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/png_sink.hpp"

#include "core/checks.hpp"
#include "transport/frame_sinks/picture_files.hpp"

#include <fmt/format.h>

#ifdef OFFRAMP_HAS_PNG

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <utility>
#include <vector>

namespace offramp {
namespace {

constexpr std::array png_formats{PixelFormat::rgb24, PixelFormat::rgba32, PixelFormat::gray8,
                                 PixelFormat::rgb48, PixelFormat::rgba64, PixelFormat::gray16};

[[noreturn]] void refuse(const std::string& path, std::string what, std::string remedy) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = std::move(what),
                   .path = path,
                   .remedy = std::move(remedy)});
}

using PngText = std::array<char, 128>;

[[noreturn]] void on_png_error(png_structp png, png_const_charp why) {
  // Kept in room that is there: no exception may cross libpng's frames.
  auto& text = *static_cast<PngText*>(png_get_error_ptr(png));
  std::snprintf(text.data(), text.size(), "%s", why);
  png_longjmp(png, 1);
}

// Writes one picture. Nothing in here has a destructor: png_error jumps out of it.
bool write_png(png_structp png, png_infop info, const FrameFormat& format, const png_byte* frame,
               std::size_t row_size, int color, int bits) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_IHDR(png, info, format.width, format.height, bits, color, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (bits == 16) png_set_swap(png);  // frames are little-endian, png is big-endian
  for (std::uint32_t row = 0; row < format.height; ++row)
    png_write_row(png, frame + row * row_size);
  png_write_end(png, info);
  return true;
}

class PngSink final : public FrameSink {
 public:
  PngSink(const FrameTarget& target, int level)
      : path_(target.path), files_(target, ".png"), level_(level) {}

  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return png_formats;
  }

  [[nodiscard]] std::optional<std::uint64_t> frame_limit() const noexcept override {
    return files_.most();
  }

  void begin(const FrameFormat& format) override {
    expect_format(png_formats, format, path_, "png");
    constexpr std::uint32_t most = 1'000'000;  // libpng's own limit
    if (format.width > most || format.height > most) {
      refuse(path_, fmt::format("png has no pictures of {} x {}", format.width, format.height),
             "choose another format");
    }
    format_ = format;
    files_.begin();
  }

  [[nodiscard]] bool codes_alone() const noexcept override { return true; }

  void encode(std::span<const std::byte> frame, std::vector<std::byte>& out) const override {
    OFFRAMP_EXPECTS(frame.size() == format_.size(), "a frame has the size of its format");
    out.clear();
    PngText why{};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &why, on_png_error, nullptr);
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    if (!info) {
      png_destroy_write_struct(&png, nullptr);
      throw OutOfMemory(frame.size(), "a png picture");
    }
    png_set_write_fn(
        png, &out,
        [](png_structp at, png_bytep data, std::size_t size) {
          auto& to = *static_cast<std::vector<std::byte>*>(png_get_io_ptr(at));
          const auto* bytes = reinterpret_cast<const std::byte*>(data);
          bool full = false;
          try {
            to.insert(to.end(), bytes, bytes + size);
          } catch (...) {
            full = true;  // libpng's frames are left by its own way alone
          }
          if (full) png_error(at, "no memory");
        },
        nullptr);
    png_set_compression_level(png, level_);
    // Rows of a picture are alike: the filter is what makes a low level shrink.
    png_set_filter(png, PNG_FILTER_TYPE_BASE, level_ == 0 ? PNG_FILTER_NONE : PNG_FILTER_UP);
    const int channels = channels_of(format_.pixels);
    const int color = channels == 1   ? PNG_COLOR_TYPE_GRAY
                      : channels == 3 ? PNG_COLOR_TYPE_RGB
                                      : PNG_COLOR_TYPE_RGBA;
    const int bits = bits_of(format_.pixels);
    const std::size_t row_size =
        std::size_t{format_.width} * static_cast<std::size_t>(channels * bits / 8);
    const bool done = write_png(png, info, format_, reinterpret_cast<const png_byte*>(frame.data()),
                                row_size, color, bits);
    png_destroy_write_struct(&png, &info);
    if (!done) {
      throw MachineError({.code = ErrorCode::out_of_memory,
                          .what = fmt::format("libpng failed: {}", why.data()),
                          .path = path_,
                          .remedy = {}});
    }
  }

  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    OFFRAMP_EXPECTS(number == files_.count(), "frames come in order");
    write_frame(number, [&] { files_.add(bytes); });
    bytes_ += bytes.size();
  }

  void finish() override {
    if (files_.count() == 0) {
      refuse(path_, "a sequence of pictures without a frame",
             "send at least one, or choose raw or npy, which hold none");
    }
    files_.commit();
  }
  void keep_partial() noexcept override { partial_ = files_.leave(); }
  [[nodiscard]] std::string partial_path() const override { return partial_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override { return bytes_; }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return files_.count(); }

 private:
  std::string path_;
  PictureFiles files_;
  int level_;
  FrameFormat format_{};
  std::string partial_{};
  std::uint64_t bytes_{};
};

}  // namespace

std::unique_ptr<FrameSink> make_png_sink(FrameTarget target, std::optional<int> level) {
  if (level && (*level < 0 || *level > 9)) {
    refuse(target.path, fmt::format("png has no compression level {}", *level),
           "choose 0 (fast) to 9 (small)");
  }
  return std::make_unique<PngSink>(target, level.value_or(1));
}

}  // namespace offramp

#else

namespace offramp {

std::unique_ptr<FrameSink> make_png_sink(FrameTarget target, std::optional<int>) {
  throw DataError({.code = ErrorCode::unsupported,
                   .what = "this build has no png",
                   .path = std::move(target.path),
                   .remedy = "install libpng-dev and build again, or choose npy, y4m or raw"});
}

}  // namespace offramp
#endif
