// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// A folder of files, built beside its target and renamed to it by `commit`. Destroyed before that,
/// it removes what it made.
///
/// Files are opened anew for each write, so that there may be more of them than a process can keep
/// open. `write_at` is thread-safe.
class OutputFolder {
 public:
  /// Creates "PATH.tmp-XXXXXXXX". `replaced` are the files of a folder at `path` that `commit`
  /// removes with it; absent, nothing may stand there. @throws IoError.
  OutputFolder(std::string path, std::optional<std::vector<std::string>> replaced);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();

  /// Creates a file that does not exist, with these bytes; `file` is a plain name.
  void create(const std::string& file, std::span<const std::byte> front);
  void write_at(const std::string& file, std::uint64_t offset,
                std::span<const std::byte> bytes) const;

  /// Syncs all files and gives the folder its name. @throws IoError, the target untouched.
  void commit();

 private:
  void put_in_place();
  void discard() noexcept;

  std::string path_;    // as the caller has it, for messages
  std::string target_;  // without links and ending slashes
  std::string temporary_path_;
  std::optional<std::vector<std::string>> replaced_;
  std::vector<std::string> files_;
  int folder_{-1};
};

/// The path without slashes at its end, other than one that is all of it.
[[nodiscard]] std::string without_slash(std::string path);

}  // namespace offramp
