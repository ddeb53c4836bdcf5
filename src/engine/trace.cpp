// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"

#include <offramp/core/file.hpp>
#include <offramp/engine/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace offramp {

struct Trace::Impl {
  mutable std::mutex mutex;
  std::vector<Span> ring;
  std::uint64_t added{0};
};

Trace::Trace(std::size_t capacity) : impl_(std::make_unique<Impl>()) {
  OFFRAMP_EXPECTS(capacity > 0, "a trace needs room for a span");
  impl_->ring.resize(capacity);
}

Trace::~Trace() = default;

void Trace::add(const Span& span) noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->ring[impl_->added++ % impl_->ring.size()] = span;
}

std::uint64_t Trace::now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t Trace::overwritten() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->added - std::min<std::uint64_t>(impl_->added, impl_->ring.size());
}

std::string Trace::to_json() const {
  std::vector<Span> spans;
  std::uint64_t added = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    added = impl_->added;
    spans.assign(impl_->ring.begin(),
                 impl_->ring.begin() + static_cast<std::ptrdiff_t>(
                                           std::min<std::uint64_t>(added, impl_->ring.size())));
  }
  std::ranges::sort(spans, {}, &Span::start_ns);
  std::string text = fmt::format(
      R"({{"displayTimeUnit":"ms","otherData":{{"spans_overwritten":{}}},"traceEvents":[)",
      added - spans.size());
  auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"offramp"}}}})");

  std::map<std::uint32_t, const char*> threads;
  for (const Span& span : spans) threads.emplace(span.thread, span.stage);
  for (const auto& [thread, stage] : threads) {
    fmt::format_to(
        out, ",\n{}",
        fmt::format(R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
                    thread,
                    thread == 0 ? std::string("producer") : fmt::format("{} {}", stage, thread)));
  }
  const std::uint64_t zero = spans.empty() ? 0 : spans.front().start_ns;
  for (const Span& span : spans) {
    fmt::format_to(
        out,
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":\"{}\",\"ts\":{:.3f},\"dur\":{:.3f},"
        "\"args\":{{\"chunk\":{},\"bytes\":{}}}}}",
        span.thread, span.stage, static_cast<double>(span.start_ns - zero) * 1e-3,
        static_cast<double>(span.end_ns - span.start_ns) * 1e-3, span.chunk, span.bytes);
  }
  text += "]}\n";
  return text;
}

void Trace::write(const std::string& path) const {
  const std::string text = to_json();
  OutputFile file(path, OutputFile::Existing::overwrite);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace offramp
