// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace offramp {

/// A file open for reading at any place. Move-only; thread-safe to read.
class InputFile {
 public:
  /// Opens a regular file. @throws IoError with the reason; also for a folder, pipe or device.
  explicit InputFile(std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Size when it was opened, in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Fills `out` from `offset`. @throws IoError; DataError (truncated) where the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Reads likewise, and makes sure that nobody has written to the file since it was opened: its
  /// size and time of change are what they were. @throws MachineError (io) where they are not.
  void read_unchanged(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  void expect_unchanged() const;

  std::string path_;
  std::uint64_t size_{};
  std::int64_t changed_s_{};  // when it was opened: time of the last change, in seconds
  std::int64_t changed_ns_{};
  int fd_{-1};
};

/// A file written beside its target and renamed over it by `commit`; the target never holds half a
/// file. Destroyed before that, it removes what it wrote. Move-only; `write_at` is thread-safe.
///
/// A target that is a symbolic link stands for what it points to. One that exists and is no regular
/// file (a pipe, /dev/null) is written to directly: there is no temporary file and nothing to
/// remove.
class OutputFile {
 public:
  enum class Existing { refuse, overwrite };

  /// Whether `commit` waits until the disk has the bytes and the name.
  enum class Sync { no, yes };

  /// Creates "PATH.tmp-XXXXXXXX" in the target's folder. @throws IoError; where the target exists
  /// and may not be overwritten, with errno EEXIST and a message that names `--overwrite`.
  OutputFile(std::string path, Existing existing, Sync sync = Sync::yes);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  /// The process's standard output, written to directly. `path` is "standard output".
  [[nodiscard]] static OutputFile standard_output();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Where the bytes are until `commit`; empty where the target is written to directly.
  [[nodiscard]] const std::string& temporary_path() const noexcept { return temporary_path_; }

  /// Bytes appended so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Appends. @throws IoError (disk full, quota, a pipe that nobody reads any more, ...), which
  /// names the target; SIGPIPE is never raised.
  void append(std::span<const std::byte> bytes);

  /// Appends the pieces as one run of bytes, in one system call where the system allows.
  void append(std::span<const std::span<const std::byte>> pieces);

  /// Writes at `offset`, which may lie behind the end; does not move the place of `append`.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  /// Cuts what lies behind the first `size` bytes; `append` goes on there. Nothing to cut in a
  /// target that is written to directly. @throws IoError.
  void truncate(std::uint64_t size);

  /// Syncs, closes and renames to the target's name. A target that appeared meanwhile is kept where
  /// it may not be overwritten. @throws IoError, the target untouched (unless only the folder's
  /// sync failed, which the message says).
  void commit();

  /// Instead of `commit`: leaves what was written so far beside the target, under the target's name
  /// with "partial" before its extension ("clip.partial.mp4"; with a number where that is taken).
  /// @returns that path; empty where there is no temporary file or it cannot be renamed.
  [[nodiscard]] std::string leave() noexcept;

 private:
  OutputFile() = default;
  void discard() noexcept;

  std::string path_;    // as given, for messages
  std::string target_;  // path_ with symbolic links followed
  std::string temporary_path_;
  std::uint64_t size_{};
  int fd_{-1};
  Existing existing_{Existing::refuse};
  Sync sync_{Sync::yes};
};

/// Whether both paths lead to one existing file, by whatever names.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b) noexcept;

}  // namespace offramp
