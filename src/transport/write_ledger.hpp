// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/tensor_source.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// What a sink was told to expect and how much of it came. `record` is thread-safe.
///
/// Counts bytes: since ranges do not overlap, a tensor is complete when as many came as it has.
class WriteLedger {
 public:
  enum class State { idle, begun, finished };

  /// @throws LogicError at the second call.
  void begin(std::span<const TensorInfo> tensors);

  /// Checks a write about to be made; returns its offset inside the tensor, in bytes.
  /// @throws LogicError where the sink is not begun or the range is not inside the tensor.
  [[nodiscard]] std::uint64_t check(std::size_t tensor, std::uint64_t first_elem,
                                    std::size_t size) const;

  /// Counts a write that was made.
  void record(std::size_t tensor, std::size_t size) noexcept;

  /// @throws LogicError where the sink is not begun, DataError where a tensor is incomplete.
  void expect_complete(const std::string& path) const;

  void finish() noexcept { state_ = State::finished; }

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept { return tensors_; }

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<std::atomic<std::uint64_t>> written_;
  State state_{State::idle};
};

}  // namespace offramp
