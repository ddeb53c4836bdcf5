// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/stream.hpp>
#include <offramp/device/device.hpp>
#include <offramp/frames/frame_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace offramp {

/// Computes frames on a device, one after the other: real work for a pipeline to hide behind, as a
/// model's decoder is. All arithmetic is the same on every device and with any number of threads,
/// and so are the bytes.
///
/// One thread. The device and the stream must outlive it; its memory is the device's, taken once.
/// The destructor waits for the stream.
class Generator {
 public:
  virtual ~Generator() = default;

  [[nodiscard]] virtual std::uint32_t width() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t height() const noexcept = 0;

  /// Bytes of one frame: [height, width, 3] of fp32.
  [[nodiscard]] std::size_t frame_size() const noexcept {
    return std::size_t{width()} * height() * 3 * sizeof(float);
  }

  /// Computes the next `frames` frames into `out`, `frames * frame_size()` bytes of the device,
  /// when the stream gets there; does not wait.
  /// @returns what `out` will hold: [frames, height, width, 3], fp32, RGB from 0 to 1.
  /// @throws MachineError where the device fails.
  virtual FrameView next_async(std::uint64_t frames, std::byte* out) = 0;
};

struct GeneratorSettings {
  std::uint32_t width{832};
  std::uint32_t height{480};
  std::size_t threads{0};  ///< of the host device; 0: one for each processor
};

/// One thing that can be computed.
struct GeneratorRow {
  std::string_view name{};
  std::string_view summary{};  ///< one line for people
};

/// Names and what they show: "mandelbrot", "heat", "vortex".
[[nodiscard]] std::span<const GeneratorRow> generator_table() noexcept;

/// Makes the generator of that name on `device`, working on `stream`.
/// @throws LogicError for a name that is none, or a side that is 0 or above 16384; OutOfMemory;
///         MachineError.
[[nodiscard]] std::unique_ptr<Generator> make_generator(std::string_view name, Device& device,
                                                        StreamRef stream,
                                                        const GeneratorSettings& settings);

}  // namespace offramp
