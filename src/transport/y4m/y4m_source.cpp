// SPDX-License-Identifier: Apache-2.0
#include "transport/y4m/y4m_source.hpp"

#include "core/checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <numeric>
#include <string>
#include <utility>

namespace offramp {
namespace {

constexpr std::string_view magic = "YUV4MPEG2";

struct Colorspace {
  std::string_view name{};
  PixelFormat pixels{};
};
constexpr std::array<Colorspace, 9> colorspaces{{
    {"420jpeg", PixelFormat::yuv420p},
    {"420mpeg2", PixelFormat::yuv420p},
    {"420paldv", PixelFormat::yuv420p},
    {"420", PixelFormat::yuv420p},
    {"444", PixelFormat::yuv444p},
    {"420p10", PixelFormat::yuv420p10},
    {"444p10", PixelFormat::yuv444p10},
    {"mono", PixelFormat::gray8},
    {"mono16", PixelFormat::gray16},
}};

Error bad(std::string what) {
  return {.code = ErrorCode::bad_header,
          .what = std::move(what),
          .path = {},
          .remedy = "make the stream again, for instance by ffmpeg -f yuv4mpegpipe"};
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Control characters of a hostile header do not reach the terminal.
std::string shown(std::string_view word) {
  std::string text(word.substr(0, 40));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

Result<std::uint32_t> side(std::string_view word) {
  const auto value = number(word.substr(1));
  if (!value || *value == 0 || *value > longest_frame_side)
    return bad(
        fmt::format("the y4m header says {}: a side is 1 to {}", shown(word), longest_frame_side));
  return *value;
}

Result<FrameRate> rate(std::string_view word) {
  const std::size_t colon = word.find(':');
  const auto num = number(word.substr(1, colon == std::string_view::npos ? colon : colon - 1));
  const auto den = colon == std::string_view::npos ? std::nullopt : number(word.substr(colon + 1));
  if (!num || !den) return bad(fmt::format("the y4m header says {}: no frame rate", shown(word)));
  if (*num == 0 || *den == 0) return FrameRate{};  // unknown
  const std::uint32_t common = std::gcd(*num, *den);
  return FrameRate{*num / common, *den / common};
}

Result<PixelFormat> pixels(std::string_view word) {
  for (const Colorspace& known : colorspaces) {
    if (known.name == word.substr(1)) return known.pixels;
  }
  return Error{.code = ErrorCode::unsupported,
               .what = fmt::format("the y4m colour space {} is none of those read here",
                                   shown(word.substr(1))),
               .path = {},
               .remedy = "convert the stream to 420, 444, 420p10, 444p10, mono or mono16"};
}

}  // namespace

ColorMatrix usual_matrix(std::uint32_t width, std::uint32_t height) noexcept {
  return width >= 1280 || height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
}

Result<Y4mHeader> parse_y4m_header(std::string_view line) {
  if (!line.starts_with(magic) || (line.size() > magic.size() && line[magic.size()] != ' ')) {
    return Error{.code = ErrorCode::bad_magic,
                 .what = "is no y4m stream: it does not begin with YUV4MPEG2",
                 .path = {},
                 .remedy = "state the format of a raw stream with --pixel-format and --size"};
  }
  Y4mHeader header;
  header.format.pixels = PixelFormat::yuv420p;  // where no C is said
  line.remove_prefix(magic.size());
  while (!line.empty()) {
    line.remove_prefix(1);
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    if (word.empty()) continue;
    switch (word.front()) {
      case 'W': {
        OFFRAMP_TRY(width, side(word));
        header.format.width = width;
        break;
      }
      case 'H': {
        OFFRAMP_TRY(height, side(word));
        header.format.height = height;
        break;
      }
      case 'F': {
        OFFRAMP_TRY(frames, rate(word));
        header.format.rate = frames;
        break;
      }
      case 'C': {
        OFFRAMP_TRY(format, pixels(word));
        header.format.pixels = format;
        break;
      }
      case 'X':
        if (word == "XCOLORRANGE=FULL" || word == "XCOLORRANGE=LIMITED") {
          header.has_range = true;
          header.format.range = word == "XCOLORRANGE=FULL" ? ColorRange::full : ColorRange::limited;
        }
        break;
      default:  // interlacing, the shape of a pixel, what later versions may say
        break;
    }
  }
  if (header.format.width == 0 || header.format.height == 0)
    return bad("the y4m header does not say the frames' width and height");
  if (header.format.size() > largest_frame_size) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("the y4m header says frames of {}x{}: too large",
                                     header.format.width, header.format.height),
                 .path = {},
                 .remedy = {}};
  }
  header.format.matrix = usual_matrix(header.format.width, header.format.height);
  return header;
}

Y4mSource::Y4mSource(FrameInput input, const FrameSourceOptions& options)
    : input_(std::move(input)) {
  const auto line = input_.read_line();
  auto header = parse_y4m_header(line ? *line : std::string(input_.peek(FrameInput::head_room)));
  if (!line && header) header = bad("the y4m header does not end");
  if (!header) throw DataError(std::move(header.error()).in(input_.name()));
  format_ = header->format;
  if (options.rate) format_.rate = *options.rate;
  if (options.matrix) format_.matrix = *options.matrix;
  if (options.range && !header->has_range) format_.range = *options.range;
}

bool Y4mSource::read(std::span<std::byte> frame) {
  OFFRAMP_EXPECTS(frame.size() == format_.size(), "a frame is read into room for one");
  if (input_.peek(1).empty()) return false;
  const auto line = input_.read_line();
  if (!line || !(*line == "FRAME" || line->starts_with("FRAME "))) {
    throw DataError({.code = ErrorCode::corrupt_payload,
                     .what = fmt::format("frame {} does not begin with FRAME", number_),
                     .path = input_.name(),
                     .remedy = "the stream is damaged, or its header states another size"});
  }
  const std::size_t got = input_.read(frame);
  if (got != frame.size()) {
    throw DataError({.code = ErrorCode::truncated,
                     .what = fmt::format("ends within frame {}, after {} of {} bytes", number_, got,
                                         frame.size()),
                     .path = input_.name(),
                     .remedy = "the frames before it are whole"});
  }
  ++number_;
  return true;
}

}  // namespace offramp
