// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace offramp::cli {

/// How busy the processors are that this process may use, with its work and others', since it was
/// made.
class ProcessorUse {
 public:
  ProcessorUse();

  /// 0 to 1. In steps of 10 ms of a processor, as the system counts; 0 where it tells nothing.
  [[nodiscard]] double busy() const;

 private:
  struct Ticks {
    std::uint64_t all{};
    std::uint64_t idle{};
  };
  [[nodiscard]] static Ticks now();

  Ticks start_;
};

}  // namespace offramp::cli
