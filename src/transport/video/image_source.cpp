// SPDX-License-Identifier: Apache-2.0
#if OFFRAMP_HAS_FFMPEG
#include "core/checks.hpp"
#include "transport/frame_input.hpp"
#include "transport/video/scaler.hpp"
#include "transport/video/video_source.hpp"

#include <offramp/core/file.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace offramp {
namespace {

using namespace decoding;
namespace fs = std::filesystem;

struct Kind {
  std::string_view extension{};
  AVCodecID codec{};
};
constexpr std::array<Kind, 7> kinds{{
    {".png", AV_CODEC_ID_PNG},
    {".jpg", AV_CODEC_ID_MJPEG},
    {".jpeg", AV_CODEC_ID_MJPEG},
    {".bmp", AV_CODEC_ID_BMP},
    {".tif", AV_CODEC_ID_TIFF},
    {".tiff", AV_CODEC_ID_TIFF},
    {".webp", AV_CODEC_ID_WEBP},
}};

constexpr std::uint64_t largest_picture_file = std::uint64_t{1} << 30;

std::optional<AVCodecID> codec_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::ranges::find(kinds, extension, &Kind::extension);
  if (found == kinds.end()) return std::nullopt;
  return found->codec;
}

// "in_%04d.png" as what is before the number, its width, and what is behind it.
struct Pattern {
  std::string before{};
  std::size_t digits{};
  std::string behind{};

  [[nodiscard]] std::string path(std::uint64_t number) const {
    return fmt::format("{}{:0{}}{}", before, number, digits, behind);
  }
};

std::optional<Pattern> parse_pattern(const std::string& path) {
  const std::size_t percent = path.find('%');
  if (percent == std::string::npos) return std::nullopt;
  std::size_t at = percent + 1;
  std::size_t digits = 0;
  while (at < path.size() && std::isdigit(static_cast<unsigned char>(path[at])) && digits < 100)
    digits = digits * 10 + static_cast<std::size_t>(path[at++] - '0');
  if (at == path.size() || path[at] != 'd' || digits > 20) return std::nullopt;
  return Pattern{path.substr(0, percent), std::max<std::size_t>(1, digits), path.substr(at + 1)};
}

// As people count: 2 before 10.
bool before(const fs::path& left, const fs::path& right) {
  const std::string a = left.filename().string();
  const std::string b = right.filename().string();
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      const std::size_t start = std::min(text.find_first_not_of('0', at), text.size());
      at = start;
      while (at < text.size() && digit(text[at])) ++at;
      return std::string_view(text).substr(start, at - start);
    };
    const std::string_view m = number(a, i);
    const std::string_view n = number(b, j);
    if (m.size() != n.size()) return m.size() < n.size();
    if (m != n) return m < n;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    // Hidden files are somebody's notes on a picture (._a.png), or one that is not whole yet.
    if (at->path().filename().string().starts_with('.')) continue;
    if (codec_of(at->path()) && at->is_regular_file(ignored)) found.push_back(at->path());
  }
  if (failed) throw IoError("list", path, failed.value());
  std::ranges::sort(found, before);
  std::vector<std::string> names;
  for (const fs::path& one : found) names.push_back(one.string());
  return names;
}

std::vector<std::string> list_pattern(const Pattern& pattern) {
  std::vector<std::string> names;
  std::error_code ignored;
  std::uint64_t number = 0;
  while (number < 1000 && !fs::exists(pattern.path(number), ignored)) ++number;
  for (; fs::exists(pattern.path(number), ignored); ++number) names.push_back(pattern.path(number));
  return names;
}

class ImageSource final : public FrameSource {
 public:
  ImageSource(const std::string& path, std::vector<std::string> names,
              const FrameSourceOptions& options)
      : names_(std::move(names)) {
    if (names_.empty()) {
      throw DataError({.code = ErrorCode::not_found,
                       .what = "no picture is there",
                       .path = path,
                       .remedy = "give a folder, or a pattern such as in_%04d.png, of png, jpg, "
                                 "bmp, tiff or webp files"});
    }
    av_log_set_level(AV_LOG_QUIET);
    decode(names_.front());
    width_ = picture_->width;
    height_ = picture_->height;
    format_.width = options.width.value_or(static_cast<std::uint32_t>(width_));
    format_.height = options.height.value_or(static_cast<std::uint32_t>(height_));
    const auto from = static_cast<AVPixelFormat>(picture_->format);
    format_.pixels = options.pixels ? *options.pixels : nearest_format(from, options.accepts);
    // What JFIF, and all else that holds pictures in Y'CbCr, uses.
    tags_ = {.matrix = options.matrix.value_or(ColorMatrix::bt601), .range = ColorRange::full};
    const ColorTags tags = color_tags(*picture_, tags_);
    const bool was_yuv = codec_of(names_.front()) == AV_CODEC_ID_MJPEG;
    format_.matrix = was_yuv ? tags.matrix : options.matrix.value_or(ColorMatrix::bt709);
    format_.range = was_yuv ? tags.range : options.range.value_or(ColorRange::limited);
    format_.rate = options.rate.value_or(FrameRate{});
    scaler_.emplace(format_, options.threads);
  }

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override {
    return names_.size();
  }

  [[nodiscard]] bool read(std::span<std::byte> frame) override {
    OFFRAMP_EXPECTS(frame.size() == format_.size(), "a frame is read into room for one");
    if (number_ == names_.size()) return false;
    const std::string& name = names_[number_];
    if (number_ > 0) decode(name);
    if (picture_->width != width_ || picture_->height != height_) {
      throw DataError({.code = ErrorCode::mismatch,
                       .what = fmt::format("frame {} is {}x{}, the first one {}x{}", number_,
                                           picture_->width, picture_->height, width_, height_),
                       .path = name,
                       .remedy = "frames of one file have one size: sort the pictures by size"});
    }
    scaler_->put(*picture_, color_tags(*picture_, tags_), frame);
    ++number_;
    return true;
  }

 private:
  void decode(const std::string& name);

  std::vector<std::string> names_;
  FrameFormat format_{};
  ColorTags tags_{};
  std::optional<Scaler> scaler_{};
  Owned<AVPacket> packet_ = own(av_packet_alloc());
  Owned<AVFrame> picture_ = own(av_frame_alloc());
  int width_{};
  int height_{};
  std::size_t number_{0};
};

// Nearly every tiff has tags that mean nothing to a decoder, and FFmpeg's takes them for damage
// where it is to stop at damage. It asks for memory behind the tags and before the pixels.
void allow_unknown_tags(AVCodecContext& decoder) {
  decoder.err_recognition &= ~AV_EF_EXPLODE;
  decoder.get_buffer2 = [](AVCodecContext* at, AVFrame* picture, int flags) {
    at->err_recognition |= AV_EF_EXPLODE;
    return avcodec_default_get_buffer2(at, picture, flags);
  };
}

void ImageSource::decode(const std::string& name) {
  const auto fail = [&](int code) {
    throw_av(code, fmt::format("frame {} does not decode", number_), name);
  };
  const InputFile file(name);
  if (file.size() == 0 || file.size() > largest_picture_file) fail(AVERROR_INVALIDDATA);
  av_packet_unref(packet_.get());
  if (const int code = av_new_packet(packet_.get(), static_cast<int>(file.size())); code < 0)
    fail(code);
  file.read(0, {reinterpret_cast<std::byte*>(packet_->data), file.size()});
  const auto kind = codec_of(name);
  const AVCodec* const codec = kind ? avcodec_find_decoder(*kind) : nullptr;
  if (!codec) {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = "the name is that of no picture that can be read here",
                     .path = name,
                     .remedy = "give png, jpg, bmp, tiff or webp files, by these endings"});
  }
  // A decoder a picture: nothing of a damaged one is left for the next. To make it is cheap.
  const auto decoder = own(avcodec_alloc_context3(codec));
  decoder->thread_count = 1;
  decoder->err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK;
  if (codec->id == AV_CODEC_ID_TIFF) allow_unknown_tags(*decoder);
  decoder->max_pixels = static_cast<std::int64_t>(largest_frame_size / 4);
  if (const int code = avcodec_open2(decoder.get(), codec, nullptr); code < 0) fail(code);
  if (const int code = avcodec_send_packet(decoder.get(), packet_.get()); code < 0) fail(code);
  avcodec_send_packet(decoder.get(), nullptr);
  if (const int code = avcodec_receive_frame(decoder.get(), picture_.get()); code < 0) fail(code);
  if (picture_->decode_error_flags != 0) fail(AVERROR_INVALIDDATA);
}

}  // namespace

std::unique_ptr<FrameSource> open_image_source(const std::string& path,
                                               const FrameSourceOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return std::make_unique<ImageSource>(path, list_folder(path), options);
  const auto pattern = parse_pattern(path);
  if (pattern && !fs::exists(path, ignored))
    return std::make_unique<ImageSource>(path, list_pattern(*pattern), options);
  return std::make_unique<ImageSource>(path, std::vector{path}, options);
}

}  // namespace offramp
#endif
