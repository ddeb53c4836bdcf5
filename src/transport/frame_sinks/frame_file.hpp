// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>
#include <offramp/frames/pixel_format.hpp>
#include <offramp/transport/frame_sink.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace offramp {

/// Where a frame sink writes: a file beside its target, or standard output for the path "-". It
/// gets its name without waiting for the disk: such files can be made again.
///
/// Where two sinks have one target, that which finishes first gets the name; the other's finish
/// fails, unless it may overwrite.
struct FrameTarget {
  std::string path{};
  OutputFile::Existing existing{OutputFile::Existing::refuse};
  std::stop_token cancel{};

  [[nodiscard]] bool is_standard_output() const noexcept { return path == "-"; }
  /// Of a pipe, waits until somebody reads it. @throws DataError (cancelled); IoError.
  [[nodiscard]] OutputFile open() const;
  /// What messages name.
  [[nodiscard]] std::string shown() const {
    return is_standard_output() ? "standard output" : path;
  }
};

/// The same error of the system's, with the frame's number.
[[nodiscard]] IoError in_frame(const IoError& error, std::uint64_t number);

/// Runs `write`; an error of the system's gets the frame's number.
template <class Write>
void write_frame(std::uint64_t number, Write write) {
  try {
    write();
  } catch (const IoError& error) {
    throw in_frame(error, number);
  }
}

/// @throws DataError where `format` is none of `formats`, which are named, or has no size or rate.
void expect_format(std::span<const PixelFormat> formats, const FrameFormat& format,
                   const std::string& path, std::string_view kind);

/// A file of some front, then every frame behind a fixed prefix, one after the other.
class FrameFileSink : public FrameSink {
 public:
  explicit FrameFileSink(FrameTarget target) : target_(std::move(target)) {}

  void begin(const FrameFormat& format) override;
  void write(std::uint64_t number, std::span<const std::byte> bytes) override;
  void finish() override;
  void keep_partial() noexcept override;
  [[nodiscard]] std::string partial_path() const override { return partial_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept override { return bytes_; }
  [[nodiscard]] std::uint64_t frames_out() const noexcept override { return frames_; }

 protected:
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
  [[nodiscard]] virtual std::string front(const FrameFormat& format) = 0;
  [[nodiscard]] virtual std::string_view prefix() const noexcept { return {}; }
  /// Completes the file before it gets its name: only then the number of frames is known.
  virtual void complete(OutputFile&, std::uint64_t /*frames*/) {}

  [[nodiscard]] const FrameTarget& target() const noexcept { return target_; }
  [[nodiscard]] const FrameFormat& format() const noexcept { return format_; }

 private:
  FrameTarget target_;
  FrameFormat format_{};
  std::optional<OutputFile> file_{};
  std::string partial_{};
  std::uint64_t bytes_{};
  std::uint64_t frames_{};
  std::uint64_t whole_{};  // bytes of whole frames
};

}  // namespace offramp
