// SPDX-License-Identifier: Apache-2.0
#include "probe/busy_time.hpp"

#include "core/checks.hpp"

#include <algorithm>

namespace offramp {

BusyTime::BusyTime(std::size_t kept, std::size_t picture) : kept_(kept), picture_size_(picture) {
  OFFRAMP_EXPECTS(kept_ > 1 && picture_size_ > 0, "there must be room for spans");
  spans_.reserve(2 * kept_);
}

void BusyTime::add(TimeSpan span) {
  span.start_ns = std::max(span.start_ns, begin_ns_);
  if (span.end_ns <= span.start_ns) return;
  spans_.push_back(span);
  if (spans_.size() < 2 * kept_) return;
  settle();
  if (spans_.size() > kept_) retire(spans_.size() - kept_ / 2);
}

void BusyTime::settle() {
  if (spans_.empty()) return;
  std::ranges::sort(spans_, {}, &TimeSpan::start_ns);
  std::size_t last = 0;
  for (std::size_t at = 1; at < spans_.size(); ++at) {
    if (spans_[at].start_ns <= spans_[last].end_ns) {
      spans_[last].end_ns = std::max(spans_[last].end_ns, spans_[at].end_ns);
    } else {
      spans_[++last] = spans_[at];
    }
  }
  spans_.resize(last + 1);
}

void BusyTime::retire(std::size_t count) {
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto span = spans_.begin(); span != end; ++span) {
    retired_ns_ += span->end_ns - span->start_ns;
    // One that was late is counted, and left out of the picture.
    if (picture_.empty() || span->start_ns > picture_.back().end_ns) picture_.push_back(*span);
  }
  spans_.erase(spans_.begin(), end);
  close_gaps(picture_, picture_size_);
}

BusyTime::Result BusyTime::finish(TimeSpan window) {
  for (TimeSpan& span : spans_) span.end_ns = std::min(span.end_ns, window.end_ns);
  std::erase_if(spans_, [](const TimeSpan& span) { return span.end_ns <= span.start_ns; });
  settle();
  retire(spans_.size());
  return {.length_ns = retired_ns_, .picture = std::move(picture_)};
}

void close_gaps(std::vector<TimeSpan>& spans, std::size_t most) {
  if (spans.size() <= most) return;
  std::vector<std::uint64_t> gaps(spans.size() - 1);
  for (std::size_t at = 0; at < gaps.size(); ++at) {
    gaps[at] = spans[at + 1].start_ns - spans[at].end_ns;
  }
  // So many have to go; of those as large as the largest that goes, only as many as are needed.
  std::size_t to_close = spans.size() - most;
  auto sorted = gaps;
  const auto largest = sorted.begin() + static_cast<std::ptrdiff_t>(to_close - 1);
  std::ranges::nth_element(sorted, largest);
  std::size_t equal = to_close - static_cast<std::size_t>(std::ranges::count_if(
                                     gaps, [&](std::uint64_t gap) { return gap < *largest; }));
  std::size_t last = 0;
  for (std::size_t at = 1; at < spans.size(); ++at) {
    const std::uint64_t gap = gaps[at - 1];
    const bool closes = gap < *largest || (gap == *largest && equal > 0);
    if (closes && gap == *largest) --equal;
    if (closes) {
      spans[last].end_ns = spans[at].end_ns;
    } else {
      spans[++last] = spans[at];
    }
  }
  spans.resize(last + 1);
}

}  // namespace offramp
