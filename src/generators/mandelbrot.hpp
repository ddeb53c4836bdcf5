// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/cells.hpp"

#include <cstddef>
#include <cstdint>

namespace offramp::generators {

/// How long a point takes to leave, without steps between whole iterations; below 0 where it does
/// not leave within `limit`.
OFFRAMP_CELL_FN float escape_time(double cx, double cy, std::uint32_t limit) {
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  std::uint32_t done = 0;
  while (xx + yy <= 65536.0 && done < limit) {
    y = (x + x) * y + cy;
    x = xx - yy + cx;
    xx = x * x;
    yy = y * y;
    ++done;
  }
  if (xx + yy <= 65536.0) return -1.0f;
  const float radius_log = 0.5f * log2_of(static_cast<float>(xx + yy));
  return static_cast<float>(done) + 1.0f - log2_of(radius_log);
}

struct MandelbrotCell {
  Picture out{};
  double left{};
  double top{};
  double step{};
  std::uint32_t limit{};

  OFFRAMP_CELL_FN void operator()(std::uint32_t x, std::uint32_t y) const {
    const float time = escape_time(left + x * step, top + y * step, limit);
    if (time < 0) {
      out.put(x, y, {0, 0, 0});
      return;
    }
    const float hue = 0.02f * time;
    out.put(x, y, {wave(hue), wave(hue + 0.12f), wave(hue + 0.3f)});
  }
};

/// A zoom into the set's seahorse valley, by 3 % a frame for as long as doubles can tell the pixels
/// apart, then from the start.
class Mandelbrot {
 public:
  using Cells = CellList<MandelbrotCell>;

  explicit Mandelbrot(Grid picture) noexcept : picture_(picture) {}

  [[nodiscard]] Grid picture() const noexcept { return picture_; }
  [[nodiscard]] std::size_t state_size() const noexcept { return 0; }

  template <class Run>
  void start(Run& run, std::byte* state) {
    static_cast<void>(run);
    static_cast<void>(state);
  }

  template <class Run>
  void frame(Run& run, float* out) {
    constexpr double center_x = -0.743643887037158704752;
    constexpr double center_y = 0.131825904205311970493;
    const double step =
        span_ / (picture_.width > picture_.height ? picture_.width : picture_.height);
    run.cells(picture_, MandelbrotCell{.out = {out, picture_.width},
                                       .left = center_x - 0.5 * step * (picture_.width - 1),
                                       .top = center_y - 0.5 * step * (picture_.height - 1),
                                       .step = step,
                                       .limit = limit_});
    span_ /= 1.03;
    ++number_;
    limit_ = first_limit + number_ * 2;
    if (number_ == zoom_frames) {
      number_ = 0;
      span_ = first_span;
      limit_ = first_limit;
    }
  }

 private:
  static constexpr double first_span = 3.0;
  static constexpr std::uint32_t first_limit = 200;
  static constexpr std::uint32_t zoom_frames = 860;  // a span of 3e-11

  Grid picture_;
  double span_{first_span};
  std::uint32_t limit_{first_limit};
  std::uint32_t number_{0};
};

}  // namespace offramp::generators
