// SPDX-License-Identifier: Apache-2.0
#include "extra_file.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <span>
#include <utility>

namespace offramp::cli {

ExtraFile::ExtraFile(const std::string& path) {
  if (!path.empty()) file_.emplace(path, OutputFile::Existing::overwrite);
}

void ExtraFile::write(const std::string& text, const std::string& output) {
  if (!file_) return;
  try {
    file_->append(std::as_bytes(std::span(text)));
    file_->commit();
    file_.reset();
  } catch (const IoError& error) {
    Error said = error.error();
    said.remedy +=
        fmt::format("{}only this file is missing: {} is complete", said.remedy.empty() ? "" : "; ",
                    output == "-" ? "what went to standard output" : output);
    throw MachineError(std::move(said));
  }
}

}  // namespace offramp::cli
