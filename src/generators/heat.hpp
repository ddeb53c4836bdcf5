// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/cells.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace offramp::generators {

/// Discs of three sizes, hot and cold, at places that a hash draws.
struct HeatStart {
  float* to{};
  Grid grid{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const std::uint32_t side = grid.width < grid.height ? grid.width : grid.height;
    float heat = 0.15f;
    for (std::uint32_t parts = 3; parts <= 27; parts *= 3) {
      const std::uint32_t square = side / parts + 1;
      const std::uint32_t column = x / square;
      const std::uint32_t row = y / square;
      const std::uint32_t drawn = scramble(column * 0x9e3779b9u ^ scramble(row + parts * 7919u));
      const float radius =
          static_cast<float>(square) * (0.2f + 0.001f * static_cast<float>(drawn % 300));
      const float dx = static_cast<float>(x - column * square) - 0.5f * static_cast<float>(square);
      const float dy = static_cast<float>(y - row * square) - 0.5f * static_cast<float>(square);
      if (dx * dx + dy * dy < radius * radius) heat = (drawn >> 16 & 3u) != 0 ? 1.0f : 0.0f;
    }
    to[std::uint64_t{y} * grid.width + x] = heat;
  }
};

/// One explicit step of du/dt = laplace(u) with nothing flowing across the edges: each cell trades
/// with its four neighbours. Stable, and no new extremes, for rates up to a quarter.
struct HeatStep {
  const float* from{};
  float* to{};
  Grid grid{};
  float rate{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const float* const at = from + std::uint64_t{y} * grid.width + x;
    const float own = *at;
    const float west = x > 0 ? at[-1] : own;
    const float east = x + 1 < grid.width ? at[1] : own;
    const float north = y > 0 ? *(at - grid.width) : own;
    const float south = y + 1 < grid.height ? at[grid.width] : own;
    const float flow = ((west - own) + (east - own)) + ((north - own) + (south - own));
    to[std::uint64_t{y} * grid.width + x] = own + rate * flow;
  }
};

/// Black, red, yellow, white.
struct HeatPaint {
  const float* from{};
  Picture out{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const float heat = 3.0f * from[std::uint64_t{y} * out.width + x];
    out.put(x, y, {clamp_unit(heat), clamp_unit(heat - 1.0f), clamp_unit(heat - 2.0f)});
  }
};

/// The heat equation on the picture's own grid, several steps a frame.
class Heat {
 public:
  using Cells = CellList<HeatStart, HeatStep, HeatPaint>;
  static constexpr std::uint32_t steps_a_frame = 16;
  static constexpr float rate = 0.2f;

  explicit Heat(Grid picture) noexcept : picture_(picture) {}

  [[nodiscard]] Grid picture() const noexcept { return picture_; }
  [[nodiscard]] std::size_t state_size() const noexcept {
    return 2 * picture_.cells() * sizeof(float);
  }
  [[nodiscard]] float* field() const noexcept { return now_; }

  template <class Run>
  void start(Run& run, std::byte* state) {
    now_ = reinterpret_cast<float*>(state);
    next_ = now_ + picture_.cells();
    run.cells(picture_, HeatStart{.to = now_, .grid = picture_});
  }

  template <class Run>
  void step(Run& run) {
    run.cells(picture_, HeatStep{.from = now_, .to = next_, .grid = picture_, .rate = rate});
    std::swap(now_, next_);
  }

  /// Shows the field as it is, then lets it go on.
  template <class Run>
  void frame(Run& run, float* out) {
    run.cells(picture_, HeatPaint{.from = now_, .out = {out, picture_.width}});
    for (std::uint32_t done = 0; done < steps_a_frame; ++done) step(run);
  }

 private:
  Grid picture_;
  float* now_{};
  float* next_{};
};

}  // namespace offramp::generators
