// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "generators/cells.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/generators/generator.hpp>

#include <memory>

namespace offramp::generators {

/// What a simulation is run on.
struct Place {
  Device& device;
  StreamRef stream;
  std::size_t threads{};
};

enum class Kind { mandelbrot, heat, vortex };

/// A device's generators.
using MakeGenerator = std::unique_ptr<Generator> (*)(Kind kind, Grid picture, const Place& place);

[[nodiscard]] std::unique_ptr<Generator> make_host_generator(Kind kind, Grid picture,
                                                             const Place& place);
[[nodiscard]] std::unique_ptr<Generator> make_cuda_generator(Kind kind, Grid picture,
                                                             const Place& place);

}  // namespace offramp::generators
