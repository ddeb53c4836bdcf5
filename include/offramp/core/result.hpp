// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/error.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace offramp {

/// A value, or the Error that kept it from being made. For bytes from outside and for "not now".
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value. @throws DataError with the error if there is none.
  T& value() & {
    if (!has_value()) throw DataError(error());
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!has_value()) throw DataError(error());
    return std::get<0>(state_);
  }
  T&& value() && {
    if (!has_value()) throw DataError(error());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The error; only where `has_value()` is false.
  Error& error() noexcept { return *std::get_if<1>(&state_); }
  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT: implicit

  [[nodiscard]] bool has_value() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return !failed_; }
  void value() const {
    if (failed_) throw DataError(error_);
  }
  Error& error() noexcept { return error_; }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_{};
  bool failed_{};
};

}  // namespace offramp

/// Evaluates a Result; returns its error from the enclosing function, or declares `name` as its
/// value.
#define OFFRAMP_TRY(name, ...)                                   \
  auto name##_result_ = (__VA_ARGS__);                           \
  if (!name##_result_) return std::move(name##_result_).error(); \
  auto& name = *name##_result_

/// The same for a Result<void>.
#define OFFRAMP_TRY_VOID(...)                                        \
  do {                                                               \
    auto offramp_result_ = (__VA_ARGS__);                            \
    if (!offramp_result_) return std::move(offramp_result_).error(); \
  } while (false)
