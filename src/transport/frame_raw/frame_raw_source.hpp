// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_input.hpp"

#include <offramp/transport/frame_source.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <cstdint>
#include <optional>

namespace offramp {

/// Frames one after the other, with nothing between them that would say what they are.
class FrameRawSource final : public FrameSource {
 public:
  /// @throws DataError where the options do not say format and size, or they are out of reach.
  FrameRawSource(FrameInput input, const FrameSourceOptions& options);

  [[nodiscard]] const FrameFormat& format() const noexcept override { return format_; }
  /// Of a file, the frame that is cut short included.
  [[nodiscard]] std::optional<std::uint64_t> count() const noexcept override;
  [[nodiscard]] bool read(std::span<std::byte> frame) override;

 private:
  FrameInput input_;
  FrameFormat format_;
  std::uint64_t number_{0};
};

}  // namespace offramp
