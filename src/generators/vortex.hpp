// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/vortex_cells.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace offramp::generators {

/// How fast the fluid turns, from the velocities around: clockwise above 0, y being downwards.
struct VortexCurl {
  const float* motion{};
  float* to{};
  Grid grid{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const std::uint64_t n = grid.cells();
    const std::uint32_t left = x > 0 ? x - 1 : x;
    const std::uint32_t right = x + 1 < grid.width ? x + 1 : x;
    const std::uint32_t up = y > 0 ? y - 1 : grid.height - 1;
    const std::uint32_t down = y + 1 < grid.height ? y + 1 : 0;
    const float* const u = motion + n;
    const float* const v = motion + 2 * n;
    const std::uint64_t row = std::uint64_t{y} * grid.width;
    const float across = v[row + right] - v[row + left];
    const float along =
        u[std::uint64_t{down} * grid.width + x] - u[std::uint64_t{up} * grid.width + x];
    to[row + x] = 0.5f * (across - along);
  }
};

/// Red turns one way, blue the other, white does not turn; the cylinder is dark.
struct VortexPaint {
  const float* curl{};
  Grid grid{};
  Cylinder cylinder{};
  Picture out{};
  float step_x{};  ///< cells a pixel
  float step_y{};
  float gain{};

  OFFRAMP_CELL_FN float sample(float px, float py) const {
    const float fx = at_least(0, at_most(px, static_cast<float>(grid.width - 1)));
    const float fy = at_least(0, at_most(py, static_cast<float>(grid.height - 1)));
    const auto x = static_cast<std::uint32_t>(fx);
    const auto y = static_cast<std::uint32_t>(fy);
    const std::uint32_t right = x + 1 < grid.width ? x + 1 : x;
    const std::uint32_t down = y + 1 < grid.height ? y + 1 : y;
    const float tx = fx - static_cast<float>(x);
    const float ty = fy - static_cast<float>(y);
    const float* const upper = curl + std::uint64_t{y} * grid.width;
    const float* const lower = curl + std::uint64_t{down} * grid.width;
    const float a = upper[x] + tx * (upper[right] - upper[x]);
    const float b = lower[x] + tx * (lower[right] - lower[x]);
    return a + ty * (b - a);
  }

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const float px = (static_cast<float>(x) + 0.5f) * step_x - 0.5f;
    const float py = (static_cast<float>(y) + 0.5f) * step_y - 0.5f;
    if (cylinder.holds(px, py)) {
      out.put(x, y, {0.12f, 0.12f, 0.14f});
      return;
    }
    const float turn = gain * sample(px, py);
    const float much = turn < 0 ? -turn : turn;
    const float strong = much / (0.35f + much);  // faint whirls show, strong ones do not burn out
    const Rgb color = turn < 0
                          ? Rgb{1.0f - 0.9f * strong, 1.0f - 0.7f * strong, 1.0f - 0.25f * strong}
                          : Rgb{1.0f - 0.2f * strong, 1.0f - 0.85f * strong, 1.0f - 0.8f * strong};
    out.put(x, y, color);
  }
};

/// A vortex street: a stream past a cylinder at a Reynolds number of 150, on a lattice of half the
/// picture's width and height. Nearly incompressible: a fifth of the lattice's speed of sound.
class Vortex {
 public:
  using Cells = CellList<VortexStart, VortexStep, VortexMotion, VortexCurl, VortexPaint>;
  static constexpr std::uint32_t steps_a_frame = 16;
  static constexpr float speed = 0.12f;
  static constexpr float reynolds = 150.0f;

  explicit Vortex(Grid picture) noexcept
      : picture_(picture),
        lattice_{std::clamp(picture.width / 2, 128u, 4096u),
                 std::clamp(picture.height / 2, 80u, 2304u)} {
    const float height = static_cast<float>(lattice_.height);
    // Off the middle by part of a cell, so that nothing is symmetric.
    cylinder_ = {.x = 0.2f * static_cast<float>(lattice_.width),
                 .y = 0.5f * height + 0.3f,
                 .radius = height / 16.0f};
  }

  [[nodiscard]] Grid picture() const noexcept { return picture_; }
  [[nodiscard]] Grid lattice() const noexcept { return lattice_; }
  [[nodiscard]] const Cylinder& cylinder() const noexcept { return cylinder_; }
  [[nodiscard]] std::size_t state_size() const noexcept {
    return (2 * velocities + 4) * lattice_.cells() * sizeof(float);
  }
  /// Density, velocity to the right and downwards: of the frame shown last.
  [[nodiscard]] const float* motion() const noexcept { return motion_; }
  /// What turns: likewise.
  [[nodiscard]] const float* curl() const noexcept { return motion_ + 3 * lattice_.cells(); }

  template <class Run>
  void start(Run& run, std::byte* state) {
    now_ = reinterpret_cast<float*>(state);
    next_ = now_ + velocities * lattice_.cells();
    motion_ = next_ + velocities * lattice_.cells();
    run.cells(lattice_, VortexStart{.to = now_, .inflow = inflow(), .cylinder = cylinder_});
  }

  template <class Run>
  void step(Run& run) {
    run.cells(lattice_,
              VortexStep{.from = now_,
                         .to = next_,
                         .inflow = inflow(),
                         .cylinder = cylinder_,
                         .relax_time = 0.5f + 6.0f * cylinder_.radius * speed / reynolds});
    std::swap(now_, next_);
  }

  template <class Run>
  void frame(Run& run, float* out) {
    float* const turning = motion_ + 3 * lattice_.cells();
    run.cells(lattice_, VortexMotion{.from = now_, .to = motion_, .grid = lattice_});
    run.cells(lattice_, VortexCurl{.motion = motion_, .to = turning, .grid = lattice_});
    run.cells(picture_, VortexPaint{.curl = turning,
                                    .grid = lattice_,
                                    .cylinder = cylinder_,
                                    .out = {out, picture_.width},
                                    .step_x = static_cast<float>(lattice_.width) /
                                              static_cast<float>(picture_.width),
                                    .step_y = static_cast<float>(lattice_.height) /
                                              static_cast<float>(picture_.height),
                                    .gain = 2.0f * cylinder_.radius / (4.0f * speed)});
    for (std::uint32_t done = 0; done < steps_a_frame; ++done) step(run);
  }

 private:
  [[nodiscard]] Inflow inflow() const noexcept { return {.grid = lattice_, .speed = speed}; }

  Grid picture_;
  Grid lattice_;
  Cylinder cylinder_{};
  float* now_{};
  float* next_{};
  float* motion_{};
};

}  // namespace offramp::generators
