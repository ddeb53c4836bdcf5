// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace offramp {

/// A file, pipe or standard input (`-`) read from start to end, a frame at a time. Move-only.
class FrameInput {
 public:
  /// @throws IoError where it cannot be opened, and for a folder.
  explicit FrameInput(const std::string& path, std::stop_token cancel = {});
  FrameInput(FrameInput&& other) noexcept;
  FrameInput& operator=(FrameInput&&) = delete;
  ~FrameInput();

  /// As messages name it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Of a regular file.
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept { return size_; }

  /// The next bytes, left to be read: `count`, at most `head_room`, or fewer at the end.
  [[nodiscard]] std::string_view peek(std::size_t count);

  /// Fills `out`. @returns how many bytes there were: fewer only at the end.
  /// @throws IoError; DataError (cancelled).
  [[nodiscard]] std::size_t read(std::span<std::byte> out);

  /// Reads up to and with the next line feed, which is left out of what it returns; at most
  /// `head_room` bytes.
  /// @returns nothing where no line feed comes within them.
  [[nodiscard]] std::optional<std::string> read_line();

  static constexpr std::size_t head_room = 4096;

 private:
  [[nodiscard]] std::size_t read_some(std::byte* to, std::size_t size);
  void wait_readable() const;

  std::string name_;
  std::stop_token cancel_;
  std::optional<std::uint64_t> size_{};
  int fd_{-1};
  bool owned_{};
  std::string head_;  // read from the system, and not yet from here
};

/// Sides and frames that no honest stream is above: what a header says is checked against them
/// before memory is asked for.
inline constexpr std::uint64_t longest_frame_side = 32768;
inline constexpr std::uint64_t largest_frame_size = std::uint64_t{1} << 31;

}  // namespace offramp
