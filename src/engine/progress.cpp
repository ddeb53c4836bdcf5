// SPDX-License-Identifier: Apache-2.0
#include "engine/progress.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <new>
#include <utility>

namespace offramp {
namespace {

Error plain_error(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const MachineError& error) {
    return error.error();
  } catch (const DataError& error) {
    return error.error();
  } catch (const LogicError& error) {
    return {.code = ErrorCode::logic, .what = error.what(), .path = {}, .remedy = {}};
  } catch (const std::bad_alloc&) {
    return {.code = ErrorCode::out_of_memory,
            .what = "no memory",
            .path = {},
            .remedy = "free memory, or use smaller chunks or fewer slots"};
  } catch (const std::exception& error) {
    return {.code = ErrorCode::logic, .what = error.what(), .path = {}, .remedy = {}};
  } catch (...) {
    return {.code = ErrorCode::logic, .what = "an unknown exception", .path = {}, .remedy = {}};
  }
}

// Whether the words name a unit by its number already, as those of a sink that knows its frames do.
bool names_one(std::string_view words, std::string_view unit) noexcept {
  for (std::size_t at = words.find(unit); at != words.npos; at = words.find(unit, at + 1)) {
    const std::string_view behind = words.substr(at + unit.size());
    if (behind.size() > 1 && behind[0] == ' ' && behind[1] >= '0' && behind[1] <= '9') return true;
  }
  return false;
}

}  // namespace

void Progress::fail(std::exception_ptr cause, Error why) noexcept {
  if (!failed) {
    failed = true;
    exception = std::move(cause);
    error = std::move(why);
  }
  moved.notify_all();
}

Error describe(const std::exception_ptr& cause, std::string_view doing, std::string_view unit,
               std::uint64_t number) noexcept {
  try {
    Error error = plain_error(cause);
    if (!names_one(error.what, unit))
      error.what += fmt::format(" ({}, {} {})", doing, unit, number);
    return error;
  } catch (...) {
    // No memory even for the words; these fit a string's own room.
    return {.code = ErrorCode::out_of_memory, .what = "no memory", .path = {}, .remedy = {}};
  }
}

}  // namespace offramp
