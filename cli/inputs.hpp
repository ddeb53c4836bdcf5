// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.hpp"

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

/// Opens whatever holds tensors: what `open_source` knows, and archives (.ofr).
[[nodiscard]] std::unique_ptr<TensorSource> open_tensors(const std::string& path,
                                                         const SourceOptions& options,
                                                         Workers& workers);

/// What an option names. @throws CLI::ValidationError where there is no such thing: that is usage,
/// not bad data.
template <class T>
[[nodiscard]] T named(Result<T> found) {
  if (!found) throw CLI::ValidationError(found.error().message());
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
  /// @throws DataError (mismatch).
  void check(const std::string& in, const std::string& out) const;

  /// The settings, with cancel and progress bound. @throws as `choose_device`;
  /// CLI::ValidationError.
  [[nodiscard]] JobSettings settings(const Context& context, Progress& progress,
                                     const DeviceWork& work) const;

  /// Writes the trace and the Prometheus text where they were asked for.
  void write_extras(const JobSettings& settings, const Counters& counters) const;
};

}  // namespace offramp::cli
