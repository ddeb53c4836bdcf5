// SPDX-License-Identifier: Apache-2.0
#include "generators/heat.hpp"
#include "generators/host_run.hpp"
#include "generators/mandelbrot.hpp"
#include "generators/vortex.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace offramp::generators {
namespace {

std::vector<std::byte> state_for(std::size_t size) { return std::vector<std::byte>(size); }

TEST(MandelbrotPoints, InsideNeverLeaves) {
  // The main cardioid, the disc of period 2 and a minibrot's nucleus; the last is on the boundary.
  for (const auto& [x, y] : {std::pair{0.0, 0.0},
                             {-0.1, 0.5},
                             {-1.0, 0.0},
                             {-1.2, 0.1},
                             {-1.7548776662466927, 0.0},
                             {-2.0, 0.0}}) {
    EXPECT_LT(escape_time(x, y, 5000), 0) << x << " " << y;
  }
}

TEST(MandelbrotPoints, OutsideLeavesAsSoonAsItMust) {
  for (const auto& [x, y] : {std::pair{0.26, 0.0}, {-0.75, 0.1}, {-2.01, 0.0}, {0.4, 0.4}}) {
    // Plain iteration to a far radius: the smooth time is that of whole steps, within one of it.
    double re = 0;
    double im = 0;
    int steps = 0;
    while (re * re + im * im <= 65536) {
      const double next = re * re - im * im + x;
      im = 2 * re * im + y;
      re = next;
      ++steps;
    }
    const double radius = std::sqrt(re * re + im * im);
    EXPECT_NEAR(escape_time(x, y, 5000), steps + 1 - std::log2(std::log2(radius)), 1e-3);
  }
}

TEST(MandelbrotPoints, TheZoomHoldsStillAtItsCentre) {
  // The middle of both pictures shows the same point, so what is inside stays inside.
  const Grid grid{65, 65};
  HostRun run(1);
  Mandelbrot zoom(grid);
  std::vector<float> first(grid.cells() * 3);
  std::vector<float> later(first.size());
  zoom.frame(run, first.data());
  for (int frame = 1; frame < 24; ++frame) zoom.frame(run, later.data());
  EXPECT_NE(first, later);
  // 1.03^23 is 1.97: the later picture's corners lie half-way to the first one's.
  const auto dark = [](const std::vector<float>& picture) {
    return std::ranges::count(picture, 0.0f);
  };
  EXPECT_GT(dark(first), 100);
  EXPECT_LT(dark(first), static_cast<std::ptrdiff_t>(first.size() / 2));
}

class HeatField : public ::testing::Test {
 protected:
  explicit HeatField() { heat.start(run, state.data()); }
  [[nodiscard]] std::vector<float> field() const {
    return {heat.field(), heat.field() + grid.cells()};
  }
  [[nodiscard]] static double mean(const std::vector<float>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  Grid grid{96, 61};
  HostRun run{2};
  Heat heat{grid};
  std::vector<std::byte> state = state_for(heat.state_size());
};

TEST_F(HeatField, KeepsItsMeanAndMakesNoNewExtremes) {
  const double before = mean(field());
  auto [low, high] = std::ranges::minmax(field());
  EXPECT_LT(low, 0.2f);
  EXPECT_GT(high, 0.9f);
  const float spread = high - low;
  for (int step = 0; step < 3000; ++step) {
    heat.step(run);
    if (step % 100 != 0) continue;
    const auto [lowest, highest] = std::ranges::minmax(field());
    EXPECT_GE(lowest, low);
    EXPECT_LE(highest, high);
    low = lowest;
    high = highest;
  }
  EXPECT_NEAR(mean(field()), before, 1e-5);
  EXPECT_LT(high - low, 0.5f * spread);
}

TEST_F(HeatField, AWaveDecaysAtTheAnalyticRate) {
  constexpr int waves = 3;
  constexpr int steps = 400;
  const double k = std::numbers::pi * waves / grid.width;
  const auto wave_at = [&](std::uint64_t x) {
    return std::cos(k * (static_cast<double>(x) + 0.5));
  };
  for (std::uint64_t cell = 0; cell < grid.cells(); ++cell)
    heat.field()[cell] = static_cast<float>(wave_at(cell % grid.width));
  for (int step = 0; step < steps; ++step) heat.step(run);
  double projected = 0;
  double whole = 0;
  for (std::uint64_t cell = 0; cell < grid.cells(); ++cell) {
    projected += heat.field()[cell] * wave_at(cell % grid.width);
    whole += wave_at(cell % grid.width) * wave_at(cell % grid.width);
  }
  const double decay = projected / whole;
  // Of the equation itself, and of its five-point form, which is exact to rounding.
  EXPECT_NEAR(std::log(decay) / (-Heat::rate * k * k * steps), 1, 2e-3);
  EXPECT_NEAR(decay, std::pow(1 - 4 * Heat::rate * std::pow(std::sin(k / 2), 2), steps), 1e-5);
}

TEST(HeatPainting, FromBlackToWhite) {
  std::vector<float> out(4 * 3);
  const std::vector<float> heat{0.0f, 1.0f / 3, 2.0f / 3, 1.0f};
  HostRun run(1);
  run.cells({4, 1}, HeatPaint{.from = heat.data(), .out = {out.data(), 4}});
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1}));
}

TEST(VortexFlow, KeepsItsMassAndItsSpeedAndSheds) {
  const Grid picture{256, 160};
  HostRun run(2);
  Vortex vortex(picture);
  auto state = state_for(vortex.state_size());
  vortex.start(run, state.data());
  std::vector<float> out(picture.cells() * 3);
  const Grid lattice = vortex.lattice();
  const std::uint64_t n = lattice.cells();
  // Two diameters behind the cylinder, on its axis: there the street crosses from side to side.
  const auto probe_x =
      static_cast<std::uint64_t>(vortex.cylinder().x + 5 * vortex.cylinder().radius);
  const std::uint64_t probe = lattice.height / 2 * lattice.width + probe_x;
  int turns = 0;
  double last = 0;
  double across = 0;
  constexpr int frames = 260;
  for (int frame = 0; frame < frames; ++frame) {
    vortex.frame(run, out.data());
    const double mass =
        std::accumulate(vortex.motion(), vortex.motion() + n, 0.0) / static_cast<double>(n);
    ASSERT_NEAR(mass, 1, 0.02) << frame;
    if (frame < 100) continue;  // the start's own whirl is gone
    const double curl = vortex.curl()[probe];
    if (curl * last < 0) ++turns;
    if (curl != 0) last = curl;
    across = std::max(across, std::abs(static_cast<double>(vortex.motion()[2 * n + probe])));
  }
  // A Strouhal number of about 0.2 (blockage by the neighbours at the joined edges raises it).
  const double time = Vortex::steps_a_frame * (frames - 100);
  const double strouhal =
      0.5 * turns / time * 2 * static_cast<double>(vortex.cylinder().radius) / Vortex::speed;
  EXPECT_GE(turns, 4);
  EXPECT_GT(strouhal, 0.14);
  EXPECT_LT(strouhal, 0.30);
  EXPECT_GT(across, 0.2 * Vortex::speed);
  for (std::uint64_t cell = 0; cell < n; ++cell)
    ASSERT_LT(std::abs(vortex.motion()[n + cell]), 3 * Vortex::speed);
}

TEST(VortexFlow, AClosedPieceOfFluidConservesMassExactly) {
  // Collisions alone: what a cell sends out is what came in.
  const Grid grid{8, 5};
  const std::uint64_t n = grid.cells();
  std::vector<float> from(velocities * n);
  std::vector<float> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = 0.05f + 0.001f * static_cast<float>(scramble(static_cast<std::uint32_t>(i)) % 50);
  const VortexStep step{.from = from.data(),
                        .to = to.data(),
                        .inflow = {.grid = grid, .speed = 0.1f},
                        .cylinder = {.x = -100, .y = -100, .radius = 1},
                        .relax_time = 0.6f};
  HostRun run(1);
  run.cells(grid, step);
  constexpr int cx[] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
  constexpr int cy[] = {0, 0, -1, 0, 1, -1, -1, 1, 1};
  for (std::uint32_t y = 0; y < grid.height; ++y) {
    for (std::uint32_t x = 1; x + 1 < grid.width; ++x) {
      double in[3] = {};
      double out[3] = {};
      for (std::uint64_t i = 0; i < velocities; ++i) {
        const std::uint64_t from_y = (y + grid.height - cy[i]) % grid.height;
        const double arrives = from[i * n + from_y * grid.width + (x - cx[i])];
        const double leaves = to[i * n + std::uint64_t{y} * grid.width + x];
        in[0] += arrives;
        out[0] += leaves;
        in[1] += cx[i] * arrives;
        out[1] += cx[i] * leaves;
        in[2] += cy[i] * arrives;
        out[2] += cy[i] * leaves;
      }
      for (int moment = 0; moment < 3; ++moment) EXPECT_NEAR(in[moment], out[moment], 1e-6);
    }
  }
}

}  // namespace
}  // namespace offramp::generators
