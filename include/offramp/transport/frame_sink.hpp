// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/frames/pixel_format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// Where finished frames go: a video file, numbered pictures, a pipe.
///
/// `begin` once, then `write` with the numbers 0, 1, 2, ... in order, then `finish` once; never two
/// of these at a time, but from any thread. Only `encode` may run at once with all of them. What
/// they throw names the file and the remedy (IoError), and where it is one frame's fault, the
/// frame.
///
/// A file stands under its final name only when `finish` has returned; until then what was written
/// so far lies beside it. The destructor of a sink that was begun and not finished removes that,
/// unless `keep_partial` was called: then it ends the file so that what it holds can be played, and
/// leaves it under the name that `partial_path` gives.
///
/// `finish` does not wait for the disk. Without a frame it makes an empty file, except for videos
/// and pictures: there it throws DataError. Of two sinks with one target the first to finish has
/// it and the other's `finish` fails; where they may overwrite, the last to finish has it.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  /// The pixel formats that it takes, the preferred one first.
  [[nodiscard]] virtual std::span<const PixelFormat> formats() const noexcept = 0;

  /// Frames that it can hold, where there is a limit: one of a single picture's name.
  [[nodiscard]] virtual std::optional<std::uint64_t> frame_limit() const noexcept {
    return std::nullopt;
  }

  /// Checks everything that can be known before the first frame (size, bits, encoder, an output
  /// that exists) and makes the file. @throws DataError, IoError.
  virtual void begin(const FrameFormat& format) = 0;

  /// Whether `encode` makes of a frame what `write` takes: coding is then done by several threads
  /// at once. Otherwise `write` takes the frame itself.
  [[nodiscard]] virtual bool codes_alone() const noexcept { return false; }

  /// Codes one frame into `out`, whose room is kept from frame to frame.
  virtual void encode(std::span<const std::byte> frame, std::vector<std::byte>& out) const;

  /// Takes the next frame, or what `encode` made of it.
  virtual void write(std::uint64_t number, std::span<const std::byte> bytes) = 0;

  /// Drains encoders, completes the file and gives it its name.
  virtual void finish() = 0;

  /// Leave what was written so far. Called where a job fails and its user wants what is there.
  virtual void keep_partial() noexcept {}

  /// Where that lies; empty where nothing is kept.
  [[nodiscard]] virtual std::string partial_path() const { return {}; }

  /// Bytes that went to the system so far.
  [[nodiscard]] virtual std::uint64_t bytes_out() const noexcept = 0;

  /// Frames that the file holds after `finish`, by the sink's own count (an encoder's packets, not
  /// the calls of `write`).
  [[nodiscard]] virtual std::uint64_t frames_out() const noexcept = 0;
};

}  // namespace offramp
