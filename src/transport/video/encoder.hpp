// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace offramp::encoding {

/// What an encoder's settings are called and may be. Quality is the constant rate factor or what
/// comes nearest to it; less is better.
struct EncoderKind {
  const char* name{};
  const char* quality{};  ///< the option's name
  int best{};
  int worst{};
  int usual{};
  std::span<const std::string_view> presets{};
  bool hardware{};
  int reorders{};  ///< pictures, at most, where the encoder does not tell FFmpeg
};

struct EncoderSettings {
  std::optional<int> quality{};
  std::string preset{};
  std::size_t threads{};
};

/// Closes an encoder, whatever it still holds.
struct FreeEncoder {
  void operator()(AVCodecContext* at) const noexcept;
};
using OpenEncoder = std::unique_ptr<AVCodecContext, FreeEncoder>;

/// The encoder of that name; the usual one where it is empty. Hardware must open a session here and
/// now. `path` is for messages. @throws DataError with those that work here.
[[nodiscard]] const EncoderKind& choose_encoder(const std::string& name, const std::string& path);

/// What of our formats it takes, the one that plays everywhere first.
[[nodiscard]] std::vector<PixelFormat> formats_of(const EncoderKind& kind);

/// @throws DataError for a quality or preset that it does not have, with those that it has.
void expect_settings(const EncoderKind& kind, const EncoderSettings& settings,
                     const std::string& path);

/// Opens it for frames of this format, which it takes, numbered in units of the frame's duration.
/// @throws DataError, with what the encoder says, where it does not take that size or rate.
[[nodiscard]] OpenEncoder open_encoder(const EncoderKind& kind, const EncoderSettings& settings,
                                       const FrameFormat& format, const std::string& path);

/// What H.264 and its like call the colours of these frames: primaries and transfer are those of
/// the matrix's own standard; U and V of 4:2:0 lie on the left, where conversion puts them.
struct ColorTags {
  AVColorPrimaries primaries{};
  AVColorTransferCharacteristic transfer{};
  AVColorSpace matrix{};
  AVColorRange range{};
  AVChromaLocation chroma{};
};
[[nodiscard]] ColorTags color_tags(const FrameFormat& format) noexcept;

}  // namespace offramp::encoding
