// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/png_sink.hpp"

#include "core/checks.hpp"

#include <fmt/format.h>

#ifdef OFFRAMP_HAS_PNG

#include <png.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <optional>
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

/// Where the frames' numbers go: a pattern without any other field.
struct PngNames {
  std::string before{};
  std::string after{};
  std::size_t digits{};
  bool numbered{true};

  [[nodiscard]] std::string operator()(std::uint64_t number) const {
    return numbered ? fmt::format("{}{:0{}}{}", before, number, digits, after) : before;
  }
};

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

PngNames names_of(const std::string& path) {
  if (path.ends_with('/') || is_folder(path)) {
    const std::string folder = path.ends_with('/') ? path : path + '/';
    return {.before = folder + "frame_", .after = ".png", .digits = 6};
  }
  const auto percent = path.find('%');
  if (percent == std::string::npos) return {.before = path, .numbered = false};
  std::size_t at = percent + 1;
  const bool zeros = at < path.size() && path[at] == '0';
  std::size_t digits = 0;
  while (at < path.size() && path[at] >= '0' && path[at] <= '9' && digits < 100) {
    digits = digits * 10 + static_cast<std::size_t>(path[at++] - '0');
  }
  const bool sound = at < path.size() && path[at] == 'd' && digits <= 18 &&
                     (zeros || digits == 0) && path.find('%', at) == std::string::npos;
  if (!sound) {
    refuse(path, "a pattern of names holds one number field", "write it as in frame_%05d.png");
  }
  return {.before = path.substr(0, percent),
          .after = path.substr(at + 1),
          .digits = std::max<std::size_t>(digits, 1)};
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
  PngSink(FrameTarget target, int level)
      : target_(std::move(target)), names_(names_of(target_.path)), level_(level) {}

  // A job that a user did not want kept leaves no pictures behind; a killed one leaves whole ones.
  ~PngSink() override {
    if (!finished_ && !keep_) {
      for (std::uint64_t number = 0; number < frames_; ++number) {
        ::remove(names_(number).c_str());
      }
    }
  }

  [[nodiscard]] std::span<const PixelFormat> formats() const noexcept override {
    return png_formats;
  }

  void begin(const FrameFormat& format) override {
    expect_format(png_formats, format, target_.path, "png");
    constexpr std::uint32_t most = 1'000'000;  // libpng's own limit
    if (format.width > most || format.height > most) {
      refuse(target_.path,
             fmt::format("png has no pictures of {} x {}", format.width, format.height),
             "choose another format");
    }
    format_ = format;
    const auto slash = names_.before.rfind('/');
    if (slash != std::string::npos && slash > 0) {
      const std::string folder = names_.before.substr(0, slash);
      if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
        throw IoError("make the folder", folder, errno);
      }
      if (!is_folder(folder)) throw IoError("write to", folder, ENOTDIR);
    }
    struct stat info {};
    if (target_.existing == OutputFile::Existing::refuse && ::stat(names_(0).c_str(), &info) == 0) {
      throw IoError("write", names_(0), EEXIST);
    }
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
                          .path = target_.path,
                          .remedy = {}});
    }
  }

  void write(std::uint64_t number, std::span<const std::byte> bytes) override {
    OFFRAMP_EXPECTS(number == frames_, "frames come in order");
    if (!names_.numbered && number > 0) {
      refuse(target_.path, "one png file holds one frame, and a second one came",
             "name a folder ('frames/') or a pattern ('frame_%05d.png')");
    }
    write_frame(number, [&] {
      OutputFile file(names_(number), target_.existing, OutputFile::Sync::no);
      file.append(bytes);
      file.commit();
    });
    bytes_ += bytes.size();
    ++frames_;
  }

  void finish() override { finished_ = true; }
  void keep_partial() noexcept override {
    keep_ = true;
    try {
      if (frames_ > 0) partial_ = names_(0);
    } catch (...) {
    }
  }
  [[nodiscard]] std::string partial_path() const override { return partial_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override { return bytes_; }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return frames_; }

 private:
  FrameTarget target_;
  PngNames names_;
  int level_;
  FrameFormat format_{};
  std::string partial_{};
  std::uint64_t bytes_{};
  std::uint64_t frames_{};
  bool finished_{};
  bool keep_{};
};

}  // namespace

std::unique_ptr<FrameSink> make_png_sink(FrameTarget target, std::optional<int> level) {
  if (level && (*level < 0 || *level > 9)) {
    refuse(target.path, fmt::format("png has no compression level {}", *level),
           "choose 0 (fast) to 9 (small)");
  }
  return std::make_unique<PngSink>(std::move(target), level.value_or(1));
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
