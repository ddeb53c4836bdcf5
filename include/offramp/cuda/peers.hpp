// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace offramp {

/// Which GPUs reach each other's memory directly, over NVLink or PCIe. Copies between the others
/// work as well, but go through host memory.
class PeerMatrix {
 public:
  /// `can_reach(from, to)` is asked once for each ordered pair of different GPUs below `count`.
  template <class CanReach>
  PeerMatrix(int count, CanReach can_reach)
      : count_(count), direct_(static_cast<std::size_t>(count) * static_cast<std::size_t>(count)) {
    for (int from = 0; from < count; ++from) {
      for (int to = 0; to < count; ++to) direct_[at(from, to)] = from == to || can_reach(from, to);
    }
  }

  [[nodiscard]] int count() const noexcept { return count_; }

  /// Whether GPU `from` reads and writes memory of GPU `to` itself. Not always symmetric. False for
  /// a GPU that is not there.
  [[nodiscard]] bool direct(int from, int to) const noexcept {
    return from >= 0 && to >= 0 && from < count_ && to < count_ && direct_[at(from, to)];
  }

 private:
  [[nodiscard]] std::size_t at(int from, int to) const noexcept {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(count_) +
           static_cast<std::size_t>(to);
  }

  int count_{};
  std::vector<char> direct_;
};

/// What the driver says of this machine's GPUs, asked once.
[[nodiscard]] const PeerMatrix& peer_matrix();

}  // namespace offramp
