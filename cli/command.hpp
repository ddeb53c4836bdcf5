// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"

#include <offramp/core/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <stop_token>
#include <string>

namespace offramp::cli {

/// Exit codes of every command (docs/guide/command-line.md says which is when).
enum ExitCode : int { done = 0, bad_data = 1, usage = 2, machine_failed = 3 };

/// What was asked for cannot be, whatever the data: exit code 2.
class UsageError : public DataError {
 public:
  using DataError::DataError;
};

/// Runs `ask`, where all that is `unsupported` is so by what was asked for. @throws UsageError
/// then.
template <class Ask>
auto as_asked(Ask ask) {
  try {
    return ask();
  } catch (const DataError& error) {
    if (error.error().code == ErrorCode::unsupported) throw UsageError(error.error());
    throw;
  }
}

/// What all commands share: the common options, the stop request, and how results are printed.
struct Context {
  bool json{false};
  bool quiet{false};
  std::stop_token stop{};
  std::function<int()> run{};  ///< set by the command that was named; returns an exit code

  /// Adds --json and --quiet.
  void add_common_options(CLI::App& command);

  /// Prints `machine` as JSON, or `human` (nothing when quiet).
  void print(const nlohmann::json& machine, const std::string& human) const;

  [[nodiscard]] Progress::Style progress_style() const {
    return Progress::style_for_stderr(quiet || json);
  }
};

void add_pack(CLI::App& app, Context& context);
void add_unpack(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_recover(CLI::App& app, Context& context);
void add_diff(CLI::App& app, Context& context);
void add_frames(CLI::App& app, Context& context);

}  // namespace offramp::cli
