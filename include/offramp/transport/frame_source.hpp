// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace offramp {

/// Where finished frames come from: a video file, pictures, a pipe. One thread.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  [[nodiscard]] virtual const FrameFormat& format() const noexcept = 0;

  /// Frames in all, where that is known before they are read.
  [[nodiscard]] virtual std::optional<std::uint64_t> count() const noexcept = 0;

  /// Reads the next frame into `format().size()` bytes. @returns false behind the last one.
  /// @throws DataError for what is wrong with the bytes, with the frame's number; IoError.
  [[nodiscard]] virtual bool read(std::span<std::byte> frame) = 0;
};

}  // namespace offramp
