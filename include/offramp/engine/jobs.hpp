// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/core/result.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/device/device.hpp>
#include <offramp/engine/counters.hpp>
#include <offramp/engine/trace.hpp>
#include <offramp/transport/tensor_sink.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

class ArchiveReader;
class ArchiveWriter;

struct JobProgress {
  std::uint64_t bytes_done{};   ///< of original data
  std::uint64_t bytes_total{};  ///< of original data
  Counters counters{};
};

struct JobSettings {
  /// What codes: null and the host device code with `threads`; another device codes the same bytes
  /// itself. Its page-locked memory is used, and `host_slots` and `coded_slots` are as it needs.
  /// Refused (`unsupported`) where Offloader::check_supported says no.
  Device* device{};

  std::size_t chunk_size{8u << 20};  ///< pack: largest part; unpack and verify follow the archive
  std::size_t host_slots{0};         ///< chunks in flight; 0: 6, and more to pack with many threads
  std::size_t coded_slots{0};        ///< 0: 3, likewise
  std::size_t threads{
      0};  ///< that code; 0: one for each processor (pack: at most 8, more do not help)
  std::shared_ptr<Workers> workers{};   ///< to code with, shared with others, instead of `threads`
  std::size_t max_part_size{1u << 30};  ///< unpack, verify: refuse archives with larger parts
  bool skip_incomplete{false};          ///< unpack: leave out tensors that miss a part
  std::stop_token cancel{};

  /// Called by the thread that writes, after each part.
  std::function<void(const JobProgress&)> on_progress{};
  std::shared_ptr<Trace> trace{};
};

struct JobReport {
  std::uint64_t tensors{};
  std::uint64_t bytes{};               ///< of the tensors, decoded
  std::vector<std::string> skipped{};  ///< tensors left out by `skip_incomplete`
  Counters counters{};
};

/// Reads every tensor of `source`, encodes it and appends it to `writer`, with the metadata, in the
/// source's order, and finishes the writer. Reads, encodes and writes at once; memory is bounded by
/// the slots. The bytes written do not depend on threads or slots.
/// @returns an error for data that is refused (a name twice, a file that ended early) or
///          `cancelled`; the archive is then not finished.
/// @throws MachineError where the machine fails.
Result<JobReport> pack(TensorSource& source, ArchiveWriter& writer, const Codec& codec,
                       const JobSettings& settings);

/// Restores every tensor of the archive into `sink` and finishes it. Errors as for `pack`; an
/// archive that misses a part of a tensor is refused before anything is written, unless
/// `skip_incomplete` is set.
Result<JobReport> unpack(const ArchiveReader& reader, TensorSink& sink,
                         const JobSettings& settings);

/// Checks every checksum, decodes every block, and writes nothing. Errors as for `unpack`.
Result<JobReport> verify(const ArchiveReader& reader, const JobSettings& settings);

/// A range of one tensor. `first_elem` counts in row-major order.
struct ElemRange {
  std::string_view tensor{};
  std::uint64_t first_elem{};
};

/// Restores elements `range.first_elem` and on, as many as `out` holds. Reads only the parts that
/// hold some of them, and of these decodes only the blocks that do.
Result<void> read_elems(const ArchiveReader& reader, const ElemRange& range,
                        std::span<std::byte> out, Workers& workers);

/// Rows of one tensor: all axes but the last are counted together. A scalar or vector has one row.
struct RowRange {
  std::string_view tensor{};
  std::uint64_t first_row{};
  std::uint64_t rows{};
};

/// Restores whole rows; `out` holds exactly these. Otherwise as `read_elems`.
Result<void> read_rows(const ArchiveReader& reader, const RowRange& range, std::span<std::byte> out,
                       Workers& workers);

}  // namespace offramp
