// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "generators/device_generators.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/device_table.hpp>

#include <fmt/format.h>

#include <array>

namespace offramp {
namespace {

constexpr std::array<GeneratorRow, 3> rows{{
    {.name = "mandelbrot", .summary = "a zoom into the Mandelbrot set"},
    {.name = "heat", .summary = "the heat equation: hot and cold spots that even out"},
    {.name = "vortex", .summary = "a vortex street: a stream past a cylinder"},
}};
constexpr std::array<generators::Kind, 3> kinds{generators::Kind::mandelbrot,
                                                generators::Kind::heat, generators::Kind::vortex};

constexpr std::uint32_t longest_side = 16384;

}  // namespace

std::span<const GeneratorRow> generator_table() noexcept { return rows; }

std::unique_ptr<Generator> make_generator(std::string_view name, Device& device, StreamRef stream,
                                          const GeneratorSettings& settings) {
  OFFRAMP_EXPECTS(settings.width > 0 && settings.height > 0 && settings.width <= longest_side &&
                      settings.height <= longest_side,
                  fmt::format("frames of {}x{} cannot be computed; sides are 1 to {}",
                              settings.width, settings.height, longest_side));
  const generators::Place place{.device = device, .stream = stream, .threads = settings.threads};
  const generators::Grid picture{settings.width, settings.height};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].name != name) continue;
#ifdef OFFRAMP_HAS_CUDA
    if (device.name().starts_with("cuda"))
      return generators::make_cuda_generator(kinds[row], picture, place);
#endif
    return generators::make_host_generator(kinds[row], picture, place);
  }
  throw LogicError(fmt::format("no generator is called '{}'", name));
}

}  // namespace offramp
