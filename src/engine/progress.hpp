// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string_view>

namespace offramp {

/// How far a flow has come, and its first error. Shared with the tickets, which may outlive the
/// flow; its mutex guards the whole flow's state, too.
class Progress {
 public:
  std::mutex mutex;
  std::condition_variable moved;  // a count below rose, or the flow failed

  // All guarded by `mutex`.
  std::uint64_t staged{0};   // slot fills whose sources may be reused, in order
  std::uint64_t durable{0};  // slot fills that the sink has, in order
  bool failed{false};
  Error error{};
  std::exception_ptr exception{};

  /// Keeps `cause` unless there was one before. `mutex` is held.
  void fail(std::exception_ptr cause, Error why) noexcept;
};

/// The error in an exception, with "(DOING, UNIT NUMBER)" behind its words unless they name the
/// unit themselves.
[[nodiscard]] Error describe(const std::exception_ptr& cause, std::string_view doing,
                             std::string_view unit, std::uint64_t number) noexcept;

}  // namespace offramp
