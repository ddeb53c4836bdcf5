// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace offramp {

/// Spans of work, kept in a ring of fixed size and written as Chrome trace JSON, which Perfetto
/// opens. Thread-safe; adding a span allocates nothing.
class Trace {
 public:
  /// Keeps the last `capacity` spans.
  explicit Trace(std::size_t capacity = 65536);
  ~Trace();

  struct Span {
    const char* stage{};     ///< a literal: "read", "encode"
    std::uint32_t thread{};  ///< 0: the producer; others as the pipeline numbers them
    std::uint64_t chunk{};
    std::uint64_t bytes{};
    std::uint64_t start_ns{};  ///< of `now_ns`
    std::uint64_t end_ns{};
  };
  void add(const Span& span) noexcept;

  /// The clock of spans: nanoseconds, monotonic.
  [[nodiscard]] static std::uint64_t now_ns() noexcept;

  /// Spans that the ring no longer holds.
  [[nodiscard]] std::uint64_t overwritten() const noexcept;

  [[nodiscard]] std::string to_json() const;

  /// Writes `to_json` to `path`, over what is there. @throws IoError.
  void write(const std::string& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp
