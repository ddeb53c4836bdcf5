// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/cells.hpp"

#include <offramp/core/workers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace offramp::generators {

/// Runs cells by the host's threads, rows at a time.
class HostRun {
 public:
  explicit HostRun(std::size_t threads) : workers_(threads) {}

  template <class Cell>
  void cells(Grid grid, const Cell& cell) {
    // Enough cells a turn that taking turns costs nothing.
    const std::uint32_t rows = 1 + 4096 / std::max(1u, grid.width);
    workers_.for_each((grid.height + rows - 1) / rows, [&](std::size_t band, std::size_t) {
      const std::uint32_t first = static_cast<std::uint32_t>(band) * rows;
      const std::uint32_t end = std::min(grid.height, first + rows);
      const Cell own = cell;  // what the compiler knows nobody else changes
      for (std::uint32_t y = first; y < end; ++y) {
        for (std::uint32_t x = 0; x < grid.width; ++x) own(x, y);
      }
    });
  }

 private:
  Workers workers_;
};

}  // namespace offramp::generators
