// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"
#include "extra_file.hpp"

#include <offramp/core/result.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/engine/jobs.hpp>
#include <offramp/transport/transport.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace offramp::cli {

class DeviceWork;

/// Whether writing to both paths would write one file, be it there yet or not.
[[nodiscard]] bool one_target(const std::string& a, const std::string& b);

/// Opens whatever holds tensors: what `open_source` knows, and archives (.ofr).
[[nodiscard]] std::unique_ptr<TensorSource> open_tensors(const std::string& path,
                                                         const SourceOptions& options,
                                                         Workers& workers);

/// What an option names. @throws UsageError where there is no such thing: that is usage,
/// not bad data.
template <class T>
[[nodiscard]] T named(Result<T> found) {
  if (!found) throw UsageError(found.error());
  return std::move(*found);
}

/// "1048576", "8M", "64k", "1.5G": bytes in powers of 1024. @throws CLI::ValidationError.
[[nodiscard]] std::size_t parse_size(const std::string& text);

/// "3,1024,64". @throws CLI::ValidationError.
[[nodiscard]] Shape parse_shape(const std::string& text);

/// Options of the commands that run a job: threads, slots, chunk, trace, metrics, device.
struct JobOptions {
  std::size_t threads{0};
  std::size_t slots{JobSettings{}.host_slots};
  std::string chunk{"8M"};
  std::string device{"auto"};
  std::string trace_path{};
  std::string metrics_path{};

  /// `packs`: the command chooses the chunk size; others follow the archive's.
  void add_to(CLI::App& command, bool packs);

  /// Refuses a trace or metrics file that is the job's input or output, where it would be lost.
  /// @throws UsageError (mismatch).
  void check(const std::string& in, const std::string& out) const;

  /// The settings, with cancel and progress bound. @throws as `choose_device`;
  /// CLI::ValidationError.
  [[nodiscard]] JobSettings settings(const Context& context, Progress& progress,
                                     const DeviceWork& work) const;

  /// The trace and the Prometheus text, where they were asked for.
  struct Extras {
    ExtraFile trace;
    ExtraFile metrics;
    /// @throws as `ExtraFile::write`.
    void write(const JobSettings& settings, const Counters& counters, const std::string& output);
  };
  /// @throws IoError.
  [[nodiscard]] Extras open_extras() const {
    return {ExtraFile(trace_path), ExtraFile(metrics_path)};
  }
};

}  // namespace offramp::cli
