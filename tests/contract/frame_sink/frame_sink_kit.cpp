// SPDX-License-Identifier: Apache-2.0
#include "contract/frame_sink/frame_sink_kit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#if OFFRAMP_HAS_FFMPEG
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
}
#endif

namespace offramp::testing {
namespace {

namespace fs = std::filesystem;

Bytes slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::vector<Bytes> split(const Bytes& all, std::size_t from, std::size_t size, std::size_t prefix) {
  std::vector<Bytes> frames;
  while (from < all.size()) {
    if (all.size() - from < prefix + size) throw std::runtime_error("half a frame");
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from + prefix);
    frames.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    from += prefix + size;
  }
  return frames;
}

bool is_kind(const SinkCase& kind, std::string_view extension) {
  return kind.path.ends_with(extension);
}

}  // namespace

std::vector<SinkCase> sink_cases() {
  using enum PixelFormat;
  std::vector<SinkCase> cases{
      {.name = "raw_rgb24", .path = "clip.rgb", .pixels = rgb24},
      {.name = "raw_yuv420p10", .path = "clip.raw", .pixels = yuv420p10, .width = 7, .height = 5},
      {.name = "y4m_yuv420p", .path = "clip.y4m", .pixels = yuv420p, .width = 71, .height = 3},
      {.name = "y4m_yuv444p10", .path = "clip.y4m", .pixels = yuv444p10},
      {.name = "y4m_gray8", .path = "clip.y4m", .pixels = gray8, .width = 1, .height = 1},
      {.name = "npy_rgb24", .path = "clip.npy", .pixels = rgb24},
      {.name = "npy_gray16", .path = "clip.npy", .pixels = gray16},
      {.name = "safetensors_rgb48", .path = "clip.safetensors", .pixels = rgb48},
  };
#if OFFRAMP_HAS_PNG && OFFRAMP_HAS_FFMPEG
  for (const PixelFormat pixels : {gray8, rgb24, rgba32, gray16, rgb48, rgba64}) {
    cases.push_back({.name = "png_" + std::string(name_of(pixels)),
                     .path = pixels == gray8 ? "shot_%04d.png" : "shots/",
                     .pixels = pixels,
                     .holds_none = false});
  }
  cases.back().options.level = 9;
#endif
#if OFFRAMP_HAS_FFMPEG
  const auto video = [&](const char* name, const char* path, FrameSinkOptions options,
                         PixelFormat pixels, bool exact = false) {
    cases.push_back({.name = name,
                     .path = path,
                     .options = std::move(options),
                     .pixels = pixels,
                     .exact = exact,
                     .holds_none = false,
                     .coded = true});
  };
  video("mp4_x264", "clip.mp4", {.quality = 18, .preset = "veryfast"}, yuv420p);
  video("mp4_x264_exact", "clip.mp4", {.quality = 0, .preset = "ultrafast"}, yuv420p, true);
  video("mkv_x264_10_exact", "clip.mkv", {.quality = 0, .preset = "ultrafast"}, yuv444p10, true);
  video("mp4_x265", "clip.mp4", {.encoder = "libx265", .quality = 18, .preset = "ultrafast"},
        yuv420p10);
  video("mkv_x265", "clip.mkv",
        {.encoder = "libx265", .quality = 18, .preset = "ultrafast", .threads = 1}, yuv444p);
  video("mp4_svtav1", "clip.mp4",
        {.encoder = "libsvtav1", .quality = 18, .preset = "12", .threads = 1}, yuv420p);
#endif
  return cases;
}

Bytes sample_frame(const FrameFormat& format, std::uint64_t number) {
  Bytes frame(format.size());
  const int bits = bits_of(format.pixels);
  const std::size_t samples = frame.size() / (bits > 8 ? 2 : 1);
  const double top = (1 << bits) - 1;
  for (std::size_t i = 0; i < samples; ++i) {
    const double x = static_cast<double>(i % format.width) + 1.5 * static_cast<double>(number);
    const double y = static_cast<double>(i / format.width);
    const double wave = 0.5 + 0.3 * std::sin(0.11 * x) * std::cos(0.07 * y + 0.02 * x);
    const auto code = static_cast<std::uint16_t>(wave * top);
    if (bits > 8) {
      frame[2 * i] = static_cast<std::byte>(code & 0xff);
      frame[2 * i + 1] = static_cast<std::byte>(code >> 8);
    } else {
      frame[i] = static_cast<std::byte>(code);
    }
  }
  return frame;
}

double psnr(const FrameFormat& format, const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return 0;
  const bool wide = bits_of(format.pixels) > 8;
  const auto sample = [&](const Bytes& from, std::size_t i) {
    return wide ? std::to_integer<int>(from[2 * i]) + 256 * std::to_integer<int>(from[2 * i + 1])
                : std::to_integer<int>(from[i]);
  };
  const std::size_t samples = a.size() / (wide ? 2 : 1);
  double sum = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const double off = sample(a, i) - sample(b, i);
    sum += off * off;
  }
  const double top = (1 << bits_of(format.pixels)) - 1;
  return 10 * std::log10(top * top * static_cast<double>(samples) / std::max(sum, 1e-9));
}

void write_sample(FrameSink& sink, const FrameFormat& format, std::uint64_t number) {
  const Bytes frame = sample_frame(format, number);
  if (!sink.codes_alone()) return sink.write(number, frame);
  Bytes coded(3);  // of another frame: `encode` empties it
  sink.encode(frame, coded);
  sink.write(number, coded);
}

void write_samples(FrameSink& sink, const FrameFormat& format, std::uint64_t frames) {
  sink.begin(format);
  for (std::uint64_t number = 0; number < frames; ++number) write_sample(sink, format, number);
}

void FolderTest::SetUp() {
  std::string name = (fs::temp_directory_path() / "frame-sink-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
}

std::vector<std::string> FolderTest::entries() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string FolderTest::temporary() const {
  for (const std::string& name : entries()) {
    if (name.find(".tmp-") != std::string::npos) return at(name);
  }
  return {};
}

std::unique_ptr<FrameSink> FolderTest::make(const SinkCase& kind, bool overwrite) const {
  FrameSinkOptions options = kind.options;
  options.overwrite = overwrite;
  return make_frame_sink(at(kind.path), options);
}

std::vector<Bytes> read_back(const SinkCase& kind, const std::string& path) {
  const std::size_t size = kind.format().size();
  if (is_kind(kind, ".rgb") || is_kind(kind, ".raw")) return split(slurp(path), 0, size, 0);
  if (is_kind(kind, ".y4m")) {
    const Bytes all = slurp(path);
    const auto line = std::ranges::find(all, std::byte{'\n'});
    return split(all, static_cast<std::size_t>(line - all.begin()) + 1, size, 6);
  }
  if (is_kind(kind, ".npy")) return split(slurp(path), 128, size, 0);
  if (is_kind(kind, ".safetensors")) return split(slurp(path), 256, size, 0);
#if OFFRAMP_HAS_FFMPEG
  if (kind.coded) return decode(path).frames;
  std::vector<std::string> names;
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".png") names.push_back(entry.path().string());
  }
  std::ranges::sort(names);
  std::vector<Bytes> frames;
  for (const std::string& name : names) frames.push_back(decode(name).frames.at(0));
  return frames;
#else
  throw std::runtime_error("nothing here reads " + path);
#endif
}

#if OFFRAMP_HAS_FFMPEG
DecodedVideo decode(const std::string& path) {
  av_log_set_level(AV_LOG_FATAL);  // files are cut on purpose
  AVFormatContext* file = nullptr;
  if (avformat_open_input(&file, path.c_str(), nullptr, nullptr) < 0) return {};
  DecodedVideo video;
  avformat_find_stream_info(file, nullptr);
  if (file->nb_streams != 1) {
    avformat_close_input(&file);
    return {};
  }
  const AVStream& stream = *file->streams[0];
  const AVCodecParameters& told = *stream.codecpar;
  video.primaries = told.color_primaries;
  video.transfer = told.color_trc;
  video.matrix = told.color_space;
  video.range = told.color_range;
  video.chroma = told.chroma_location;
  video.rate_num = stream.avg_frame_rate.num;
  video.rate_den = stream.avg_frame_rate.den;
  AVCodecContext* decoder = avcodec_alloc_context3(avcodec_find_decoder(told.codec_id));
  avcodec_parameters_to_context(decoder, &told);
  decoder->thread_count = 1;
  avcodec_open2(decoder, nullptr, nullptr);
  AVPacket* packet = av_packet_alloc();
  AVFrame* frame = av_frame_alloc();
  bool more = true;
  while (more) {
    more = av_read_frame(file, packet) >= 0;
    avcodec_send_packet(decoder, more ? packet : nullptr);
    av_packet_unref(packet);
    while (avcodec_receive_frame(decoder, frame) >= 0) {
      const auto format = static_cast<AVPixelFormat>(frame->format);
      const int size = av_image_get_buffer_size(format, frame->width, frame->height, 1);
      Bytes bytes(static_cast<std::size_t>(size));
      av_image_copy_to_buffer(reinterpret_cast<std::uint8_t*>(bytes.data()), size, frame->data,
                              frame->linesize, format, frame->width, frame->height, 1);
      if (told.codec_id == AV_CODEC_ID_PNG &&
          (format == AV_PIX_FMT_GRAY16BE || format == AV_PIX_FMT_RGB48BE ||
           format == AV_PIX_FMT_RGBA64BE)) {
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) std::swap(bytes[i], bytes[i + 1]);
      }
      video.frames.push_back(std::move(bytes));
      video.times.push_back(static_cast<double>(frame->pts) * av_q2d(stream.time_base));
      video.codec_matrix = frame->colorspace;
      video.codec_range = frame->color_range;
      av_frame_unref(frame);
    }
  }
  av_frame_free(&frame);
  av_packet_free(&packet);
  avcodec_free_context(&decoder);
  avformat_close_input(&file);
  return video;
}
#endif

}  // namespace offramp::testing
