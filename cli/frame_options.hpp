// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/device.hpp>
#include <offramp/frames/pixel_format.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace offramp::cli {

/// What to do where a format needs even sides and the frames have odd ones.
enum class Odd { refuse, pad, crop };

/// Options of `offramp frames`, as they were given.
struct FrameOptions {
  std::string source{};
  std::string out{};
  std::optional<std::uint64_t> frames{};
  std::string size{};
  std::string fps{};
  std::string source_format{};
  std::string format{};
  std::string encoder{};
  std::optional<int> crf{};
  std::string preset{};
  std::optional<int> level{};
  std::string pixel_format{};
  std::string matrix{};
  std::string range{};
  std::string odd{};
  std::size_t threads{0};
  std::size_t slots{0};
  std::string device{"auto"};
  bool overwrite{false};
  bool sync{false};
  bool drop{false};
  std::int64_t compare{0};  ///< rounds
  std::string report_path{};
  std::string trace_path{};

  void add_to(CLI::App& command);

  [[nodiscard]] bool is_generator() const;
  /// Frames of a generator.
  [[nodiscard]] std::uint64_t frame_count() const { return frames.value_or(120); }
  [[nodiscard]] Odd on_odd() const;

  /// What they mean; what they say that means nothing, or contradicts itself, is refused.
  /// @throws CLI::ValidationError; UsageError where a report or trace would overwrite the output.
  void check() const;
  [[nodiscard]] FrameSourceOptions source_options(std::stop_token cancel) const;
  [[nodiscard]] FrameSinkOptions sink_options() const;
  struct Size {
    std::uint32_t width{};
    std::uint32_t height{};
  };
  [[nodiscard]] std::optional<Size> frame_size() const;
  [[nodiscard]] std::optional<FrameRate> rate() const;
  [[nodiscard]] std::optional<PixelFormat> pixels() const;
  [[nodiscard]] std::optional<ColorMatrix> color_matrix() const;
  [[nodiscard]] std::optional<ColorRange> color_range() const;

  /// @throws MachineError for a GPU that is not there; CLI::ValidationError for no device's name.
  [[nodiscard]] Device& find() const;

 private:
  void expect_known_source() const;
};

}  // namespace offramp::cli
