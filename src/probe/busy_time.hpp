// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/probe/gpu_activity.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace offramp {

/// The union of spans that come in nearly ascending order, in memory that does not grow with them.
///
/// Spans are kept until there are `kept` that do not touch. Then the earlier half is added up and
/// given to the picture: a span that comes after that and overlaps it counts twice, so `kept` must
/// be large against how far the order can be wrong (a buffer of CUPTI, some thousand kernels).
class BusyTime {
 public:
  explicit BusyTime(std::size_t kept = 1u << 17, std::size_t picture = 2048);

  /// Spans that end before they start are left out.
  void add(TimeSpan span);

  /// Nanoseconds of the union within `window`, and the picture of it. The window ends behind all
  /// that was added but for the latest few. Nothing is added afterwards.
  struct Result {
    std::uint64_t length_ns{};
    std::vector<TimeSpan> picture{};
  };
  [[nodiscard]] Result finish(TimeSpan window);

  /// Spans before this are left out, and what is longer is cut: set it before the first `add`.
  void begin_at(std::uint64_t start_ns) noexcept { begin_ns_ = start_ns; }

 private:
  void settle();  // makes `spans_` ascending and disjoint
  void retire(std::size_t count);

  std::size_t kept_;
  std::size_t picture_size_;
  std::uint64_t begin_ns_{0};
  std::uint64_t retired_ns_{0};
  std::vector<TimeSpan> spans_;
  std::vector<TimeSpan> picture_;
};

/// Closes the smallest gaps between ascending, disjoint spans until at most `most` are left.
void close_gaps(std::vector<TimeSpan>& spans, std::size_t most);

}  // namespace offramp
