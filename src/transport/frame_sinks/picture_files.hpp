// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_sinks/frame_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace offramp {

/// The files of a sequence of pictures. They are written into a folder of their own, each whole or
/// not there, and moved to their place when all are: a folder in theirs, or beside it where theirs
/// is yet to be made.
class PictureFiles {
 public:
  /// The target is a pattern with one number field ("out/frame_%05d.png"), a folder ("out/", or one
  /// that exists) for frame_000000.png and so on, or one picture's name. Touches nothing.
  /// @throws DataError for another pattern.
  PictureFiles(FrameTarget target, std::string_view extension);
  PictureFiles(const PictureFiles&) = delete;
  PictureFiles& operator=(const PictureFiles&) = delete;

  /// Removes what was neither committed nor left.
  ~PictureFiles();

  /// @throws IoError where pictures of that name are there already and may not be replaced, or the
  /// folder cannot be written to.
  void begin();

  /// Writes picture `count()`. @throws IoError; DataError where the target is one picture's name.
  void add(std::span<const std::byte> bytes);

  /// Moves all to their place. Where they may replace others, pictures of the same names with
  /// higher numbers, of a longer sequence, are removed: one sequence stands there.
  void commit();

  /// Instead: leaves the folder, as "out.partial" or "out/frames.partial". @returns its path, or
  /// nothing.
  [[nodiscard]] std::string leave() noexcept;

  /// One where the target is one picture's name.
  [[nodiscard]] std::optional<std::uint64_t> most() const noexcept {
    return numbered_ ? std::nullopt : std::optional<std::uint64_t>(1);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Where picture `number` is to be.
  [[nodiscard]] std::string path_of(std::uint64_t number) const;

 private:
  [[nodiscard]] std::string name_of(std::uint64_t number) const;
  [[nodiscard]] bool is_ours(std::string_view name, std::uint64_t from) const noexcept;
  void move(std::uint64_t number);
  void remove_longer() const;

  FrameTarget target_;
  std::string folder_{};  // of the pictures, without a slash at its end
  std::string stem_{};    // of the names of folders that are not yet, or only partly, the target
  std::string before_{};
  std::string after_{};
  std::size_t digits_{};
  bool numbered_{true};
  bool whole_folder_{};
  std::string temporary_{};
  std::uint64_t count_{};
};

}  // namespace offramp
