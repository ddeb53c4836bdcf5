// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>

#include <optional>
#include <string>

namespace offramp::cli {

/// A file that a command writes besides its output: a report, a trace, counters. It is opened
/// before the job, so that a path where nothing can be written does not cost a whole job first.
class ExtraFile {
 public:
  /// No file for an empty path. @throws IoError.
  explicit ExtraFile(const std::string& path);

  /// Writes all of it, once, behind the job. @throws IoError, which says that `output` is complete
  /// all the same.
  void write(const std::string& text, const std::string& output);

  [[nodiscard]] explicit operator bool() const noexcept { return file_.has_value(); }

 private:
  std::optional<OutputFile> file_{};
};

}  // namespace offramp::cli
