// SPDX-License-Identifier: Apache-2.0
#include "frame_options.hpp"

#include "command.hpp"
#include "inputs.hpp"
#include "text.hpp"

#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/generators/generator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <system_error>
#include <vector>

namespace offramp::cli {
namespace {

// Above 0; 0 for what is no number.
std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

[[noreturn]] void refuse(const std::string& text) { throw CLI::ValidationError(text); }

}  // namespace

void FrameOptions::add_to(CLI::App& command) {
  command
      .add_option("SOURCE", source,
                  "A generator (mandelbrot, heat, vortex), a video file, a folder of pictures, a "
                  "pattern such as in_%04d.png, a .y4m or raw file, or - for standard input (y4m, "
                  "or raw with --pixel-format and --size)")
      ->required();
  command
      .add_option("OUT", out,
                  "Where frames go: .mp4 .mkv .y4m .npy .safetensors .raw .yuv .rgb, a folder or a "
                  "pattern such as out_%05d.png, - for standard output (y4m, or raw RGB with "
                  "--pixel-format), null: for nowhere")
      ->required();
  command
      .add_option("--frames", frames, "How many (a generator's default: 120; else all there are)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command.add_option("--size", size, "Such as 832x480: of generated and raw frames; scales others");
  command.add_option("--fps", fps, "Frames a second, such as 24 or 30000/1001");
  command.add_option("--codec,--encoder", encoder,
                     "Of a video: libx264, libx265, libsvtav1, or a hardware encoder's name");
  command.add_option("--crf", crf, "Quality of a video: lower is better and larger");
  command.add_option("--preset", preset, "Of the encoder, such as veryfast");
  command.add_option("--level", level, "Of png's compression, 0 to 9")->check(CLI::Range(0, 9));
  command.add_option("--pixel-format", pixel_format,
                     "gray8 gray16 rgb24 rgba32 rgb48 rgba64 yuv420p yuv444p yuv420p10 yuv444p10; "
                     "of a raw source: what it is");
  command.add_option("--matrix", matrix, "Of Y'CbCr: bt709 or bt601")
      ->check(CLI::IsMember({"bt709", "bt601"}));
  command.add_option("--range", range, "Of Y'CbCr: limited or full")
      ->check(CLI::IsMember({"limited", "full"}));
  command.add_option("--odd", odd, "Where even sides are needed: pad or crop odd ones by a line")
      ->check(CLI::IsMember({"pad", "crop"}));
  command.add_option("--source-format", source_format, "Read SOURCE as video, images, y4m or raw")
      ->check(CLI::IsMember({"video", "images", "y4m", "raw"}));
  command.add_option("--format", format,
                     "Write OUT as mp4, mkv, y4m, raw, png, npy, safetensors or "
                     "null, whatever its name");
  command.add_option("--threads", threads, "Threads that code (0: the encoder, or png, chooses)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--slots", slots, "Buffers of finished frames that wait for the file (0: enough)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command
      .add_option("--device", device,
                  "Where frames are generated: host, cuda:N, or auto: a GPU "
                  "where there is one")
      ->capture_default_str();
  command.add_flag("--overwrite", overwrite, "Replace OUT if it exists");
  command.add_flag("--drop", drop, "Lose frames that find no free buffer, instead of waiting");
  command.add_flag("--sync", sync, "Do one thing after the other, as without offramp");
  command.add_flag("--compare{5}", compare,
                   "Do the job both ways in turns, 5 times each or --compare=ROUNDS (5 to 1000), "
                   "and tell where the time goes");
  command.add_option("--report", report_path, "Write a picture of the job's timeline as HTML");
  command.add_option("--trace", trace_path,
                     "Write the timeline as JSON, for https://ui.perfetto.dev or chrome://tracing");
}

bool FrameOptions::is_generator() const {
  return source_format.empty() && std::ranges::find(generator_table(), source,
                                                    &GeneratorRow::name) != generator_table().end();
}

Odd FrameOptions::on_odd() const {
  if (odd.empty()) return Odd::refuse;
  return odd == "pad" ? Odd::pad : Odd::crop;
}

std::optional<FrameOptions::Size> FrameOptions::frame_size() const {
  if (size.empty()) return std::nullopt;
  const std::size_t cross = size.find('x');
  const std::uint32_t width = number(std::string_view(size).substr(0, cross));
  const std::uint32_t height =
      cross == std::string::npos ? 0 : number(std::string_view(size).substr(cross + 1));
  constexpr std::uint32_t longest = 16384;
  if (width == 0 || height == 0 || width > longest || height > longest)
    refuse(fmt::format("'{}' is no size: write WIDTHxHEIGHT such as 832x480, sides up to {}", size,
                       longest));
  return Size{width, height};
}

std::optional<FrameRate> FrameOptions::rate() const {
  if (fps.empty()) return std::nullopt;
  const std::size_t slash = fps.find('/');
  const std::uint32_t num = number(std::string_view(fps).substr(0, slash));
  const std::uint32_t den =
      slash == std::string::npos ? 1 : number(std::string_view(fps).substr(slash + 1));
  if (num == 0 || den == 0 || num / den > 1000)
    refuse(fmt::format("'{}' is no frame rate: write 24, or a fraction such as 30000/1001", fps));
  const std::uint32_t common = std::gcd(num, den);
  return FrameRate{num / common, den / common};
}

std::optional<PixelFormat> FrameOptions::pixels() const {
  if (pixel_format.empty()) return std::nullopt;
  const auto found = pixel_format_from_name(pixel_format);
  if (!found)
    refuse(fmt::format("no pixel format is called '{}'; see `offramp frames --help` for the names",
                       pixel_format));
  return found;
}

std::optional<ColorMatrix> FrameOptions::color_matrix() const {
  if (matrix.empty()) return std::nullopt;
  return matrix == "bt601" ? ColorMatrix::bt601 : ColorMatrix::bt709;
}

std::optional<ColorRange> FrameOptions::color_range() const {
  if (range.empty()) return std::nullopt;
  return range == "full" ? ColorRange::full : ColorRange::limited;
}

// A bare word that is no file was meant as a generator's name.
void FrameOptions::expect_known_source() const {
  const bool bare = source_format.empty() && source.find_first_of("./%") == std::string::npos;
  if (!bare || source == "-" || is_generator()) return;
  std::error_code ignored;  // a link that leads nowhere, or round, has that name
  if (exists(std::filesystem::symlink_status(source, ignored))) return;
  std::vector<std::string_view> names;
  for (const GeneratorRow& row : generator_table()) names.push_back(row.name);
  const std::string_view meant = nearest(source, names);
  throw UsageError(
      {.code = ErrorCode::not_found,
       .what = "there is neither a generator nor a file of that name",
       .path = source,
       .remedy = fmt::format("{}the generators are {}",
                             meant.empty() ? "" : fmt::format("did you mean {}? ", meant),
                             fmt::join(names, ", "))});
}

void FrameOptions::check() const {
  expect_known_source();
  static_cast<void>(frame_size());
  static_cast<void>(rate());
  static_cast<void>(pixels());
  if (compare != 0 && (compare < 5 || compare > 1000))
    refuse("--compare takes 5 to 1000 rounds: fewer show no spread");
  if (compare != 0 && (source == "-" || out == "-"))
    refuse("--compare does the job several times, which standard input and output do not let it");
  if (compare != 0 && sync)
    refuse("--compare does the job with and without --sync: leave that out");
  if (sync && drop) refuse("--drop has no meaning with --sync: nothing is dropped");
  if (!report_path.empty() && !trace_path.empty() && one_target(report_path, trace_path))
    refuse("--report and --trace name one file: choose two");
  for (const std::string& path : {report_path, trace_path}) {
    if (path.empty()) continue;
    const auto same = [&](const std::string& other) {
      return other != "-" && one_target(path, other);
    };
    if (same(out) || same(source)) {
      throw UsageError({.code = ErrorCode::mismatch,
                        .what = "would be overwritten by the report or the trace",
                        .path = path,
                        .remedy = "choose another path for --report or --trace"});
    }
  }
  if (source != "-" && out != "-" && !is_generator() && same_file(source, out)) {
    throw UsageError({.code = ErrorCode::mismatch,
                      .what = "input and output are the same file",
                      .path = out,
                      .remedy = "choose another output"});
  }
}

FrameSourceOptions FrameOptions::source_options(std::stop_token cancel) const {
  FrameSourceOptions options;
  options.format = source_format;
  options.pixels = pixels();
  if (const auto stated = frame_size()) {
    options.width = stated->width;
    options.height = stated->height;
  }
  options.rate = rate();
  options.matrix = color_matrix();
  options.range = color_range();
  options.cancel = std::move(cancel);
  return options;
}

FrameSinkOptions FrameOptions::sink_options() const {
  FrameSinkOptions options;
  options.format = format;
  if (out == "-" && format.empty()) {
    // What says what it is, where it can.
    const auto stated = pixels();
    const bool rgb = stated && !is_yuv(*stated) && channels_of(*stated) > 1;
    options.format = rgb ? "raw" : "y4m";
  }
  options.encoder = encoder;
  options.quality = crf;
  options.preset = preset;
  options.level = level;
  options.threads = threads;
  if (is_generator() && !drop) options.frames = frame_count();
  options.overwrite = overwrite;
  return options;
}

Device& FrameOptions::find() const {
  if (!is_generator()) return host_device();
  const auto found = find_device(device);
  if (found) return **found;
  if (device.starts_with("cuda:") && number("1" + device.substr(5)) != 0) {
    Error error = found.error();
    if (error.remedy.empty()) error.remedy = "use --device host";
    throw MachineError(std::move(error));
  }
  refuse(found.error().message());
}

}  // namespace offramp::cli
