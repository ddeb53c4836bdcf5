// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_input.hpp"

#include <offramp/core/result.hpp>
#include <offramp/transport/frame_source.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace offramp {

/// What a y4m stream's first line says. Its matrix is not in it: see `usual_matrix`.
struct Y4mHeader {
  FrameFormat format{};
  bool has_range{};  ///< the line says XCOLORRANGE
};

/// Reads the line "YUV4MPEG2 W640 H480 F25:1 ...", without its line feed. No word is trusted.
[[nodiscard]] Result<Y4mHeader> parse_y4m_header(std::string_view line);

/// What Y'CbCr of that size most likely uses where nobody says: 709 from 720 lines or 1280 columns
/// on, else 601.
[[nodiscard]] ColorMatrix usual_matrix(std::uint32_t width, std::uint32_t height) noexcept;

/// Frames of a y4m file or stream.
class Y4mSource final : public FrameSource {
 public:
  Y4mSource(FrameInput input, const FrameSourceOptions& options);

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override { return {}; }
  [[nodiscard]] bool read(std::span<std::byte> frame) override;

 private:
  FrameInput input_;
  FrameFormat format_;
  std::uint64_t number_{0};
};

}  // namespace offramp
