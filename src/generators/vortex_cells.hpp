// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/cells.hpp"

#include <cstdint>

namespace offramp::generators {

// Lattice Boltzmann in two dimensions with nine velocities (D2Q9), in this order:
//   6 2 5
//   3 0 1
//   7 4 8
inline constexpr std::uint32_t velocities = 9;

struct Cylinder {
  float x{};
  float y{};
  float radius{};

  OFFRAMP_CELL_FN bool holds(float px, float py) const {
    const float dx = px - x;
    const float dy = py - y;
    return dx * dx + dy * dy < radius * radius;
  }
};

/// The populations of a cell that is given motion and a density of 1, as all start and as they
/// enter at the left.
struct Inflow {
  Grid grid{};
  float speed{};

  OFFRAMP_CELL_FN void put(float* to, std::uint64_t at, float u, float v) const {
    const std::uint64_t n = grid.cells();
    const float still = 1.0f - 1.5f * (u * u + v * v);
    const auto part = [&](float weight, float along) {
      return weight * (still + 3.0f * along + 4.5f * along * along);
    };
    to[at] = part(4.0f / 9, 0);
    to[at + n] = part(1.0f / 9, u);
    to[at + 2 * n] = part(1.0f / 9, -v);
    to[at + 3 * n] = part(1.0f / 9, -u);
    to[at + 4 * n] = part(1.0f / 9, v);
    to[at + 5 * n] = part(1.0f / 36, u - v);
    to[at + 6 * n] = part(1.0f / 36, -u - v);
    to[at + 7 * n] = part(1.0f / 36, -u + v);
    to[at + 8 * n] = part(1.0f / 36, u + v);
  }
};

/// The stream everywhere, and a whirl behind the cylinder: without one the wake stays symmetric
/// until rounding errors have grown.
struct VortexStart {
  float* to{};
  Inflow inflow{};
  Cylinder cylinder{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const float dx = static_cast<float>(x) - cylinder.x - 2.0f * cylinder.radius;
    const float dy = static_cast<float>(y) - cylinder.y;
    const float far = (dx * dx + dy * dy) / (4.0f * cylinder.radius * cylinder.radius);
    const float whirl = far < 1.0f ? (1.0f - far) * (1.0f - far) : 0.0f;
    inflow.put(to, std::uint64_t{y} * inflow.grid.width + x, inflow.speed,
               0.8f * inflow.speed * whirl);
  }
};

/// Streams and collides. Upper and lower edge are joined; what reaches the cylinder goes back where
/// it came from; on the right all flows out, through an eighth of the length that grows viscous so
/// that nothing comes back.
struct VortexStep {
  const float* from{};
  float* to{};
  Inflow inflow{};
  Cylinder cylinder{};
  float relax_time{};  ///< in steps: above a half, by three times the viscosity

  /// What arrives at (x, y) with velocity `along` from (sx, sy).
  OFFRAMP_CELL_FN float arriving(std::uint64_t at, std::uint32_t along, std::uint32_t against,
                                 std::uint32_t sx, std::uint32_t sy, bool near) const {
    const std::uint64_t n = inflow.grid.cells();
    if (near && cylinder.holds(static_cast<float>(sx), static_cast<float>(sy)))
      return from[against * n + at];
    return from[along * n + std::uint64_t{sy} * inflow.grid.width + sx];
  }

  OFFRAMP_CELL_FN void operator()(std::uint32_t column, std::uint32_t y) const {
    const std::uint32_t width = inflow.grid.width;
    const std::uint32_t height = inflow.grid.height;
    const std::uint64_t n = inflow.grid.cells();
    const std::uint64_t put = std::uint64_t{y} * width + column;
    const float px = static_cast<float>(column);
    const float py = static_cast<float>(y);
    if (column == 0) {
      inflow.put(to, put, inflow.speed, 0);
      return;
    }
    const float reach = cylinder.radius + 2.0f;
    const bool near = px > cylinder.x - reach && px < cylinder.x + reach;
    if (near && cylinder.holds(px, py)) {
      inflow.put(to, put, 0, 0);
      return;
    }
    const std::uint32_t x = column + 1 < width ? column : column - 1;
    const std::uint64_t at = std::uint64_t{y} * width + x;
    const std::uint32_t up = y > 0 ? y - 1 : height - 1;
    const std::uint32_t down = y + 1 < height ? y + 1 : 0;

    const float f0 = from[at];
    const float f1 = arriving(at, 1, 3, x - 1, y, near);
    const float f2 = arriving(at, 2, 4, x, down, near);
    const float f3 = arriving(at, 3, 1, x + 1, y, near);
    const float f4 = arriving(at, 4, 2, x, up, near);
    const float f5 = arriving(at, 5, 7, x - 1, down, near);
    const float f6 = arriving(at, 6, 8, x + 1, down, near);
    const float f7 = arriving(at, 7, 5, x + 1, up, near);
    const float f8 = arriving(at, 8, 6, x - 1, up, near);

    const float density = f0 + ((f1 + f3) + (f2 + f4)) + ((f5 + f7) + (f6 + f8));
    const float u = ((f1 - f3) + (f5 - f7) - (f6 - f8)) / density;
    const float v = ((f4 - f2) - (f5 - f7) - (f6 - f8)) / density;
    if (column != x) {
      inflow.put(to, put, u, v);
      return;
    }
    const float still = 1.0f - 1.5f * (u * u + v * v);
    const float edge = static_cast<float>(width) * (7.0f / 8);
    const float beyond = px > edge ? (px - edge) / (static_cast<float>(width) - edge) : 0.0f;
    const float rate = 1.0f / (relax_time + beyond * beyond);
    const auto relaxed = [&](float f, float weight, float along) {
      const float balance = weight * (still + 3.0f * along + 4.5f * along * along);
      return f - rate * (f - balance);
    };
    const float w1 = density * (1.0f / 9);
    const float w5 = density * (1.0f / 36);
    to[put] = relaxed(f0, density * (4.0f / 9), 0);
    to[put + n] = relaxed(f1, w1, u);
    to[put + 2 * n] = relaxed(f2, w1, -v);
    to[put + 3 * n] = relaxed(f3, w1, -u);
    to[put + 4 * n] = relaxed(f4, w1, v);
    to[put + 5 * n] = relaxed(f5, w5, u - v);
    to[put + 6 * n] = relaxed(f6, w5, -u - v);
    to[put + 7 * n] = relaxed(f7, w5, -u + v);
    to[put + 8 * n] = relaxed(f8, w5, u + v);
  }
};

/// Density and velocity of each cell, as three planes: density, right, down.
struct VortexMotion {
  const float* from{};
  float* to{};
  Grid grid{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const std::uint64_t n = grid.cells();
    const float* const f = from + std::uint64_t{y} * grid.width + x;
    float* const out = to + std::uint64_t{y} * grid.width + x;
    const float density = f[0] + ((f[n] + f[3 * n]) + (f[2 * n] + f[4 * n])) +
                          ((f[5 * n] + f[7 * n]) + (f[6 * n] + f[8 * n]));
    const float diagonal = f[5 * n] - f[7 * n];
    const float other = f[6 * n] - f[8 * n];
    out[0] = density;
    out[n] = ((f[n] - f[3 * n]) + diagonal - other) / density;
    out[2 * n] = ((f[4 * n] - f[2 * n]) - diagonal - other) / density;
  }
};

}  // namespace offramp::generators
