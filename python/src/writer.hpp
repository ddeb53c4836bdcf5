// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "held_array.hpp"

#include <offramp/engine/frame_writer.hpp>
#include <offramp/transport/frame_transport.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace offramp::python {

/// A FrameWriter that is made when the first frames show what to make. Python's own lock keeps
/// `begin` to one thread; the rest may be called by several.
class Writer {
 public:
  struct Options {
    std::string path{};
    FrameRate rate{};
    FrameSinkOptions sink{};
    FrameWriterSettings settings{};
    std::optional<ValueRange> range{};
    std::string axes{};
    std::optional<PixelFormat> pixels{};
    ColorMatrix matrix{ColorMatrix::bt709};
    ColorRange color_range{ColorRange::limited};
    std::string trace_path{};  ///< where the end writes the trace; empty: nowhere
  };

  /// Makes the sink, which checks the options.
  explicit Writer(Options options);
  ~Writer();

  /// Makes the writer for frames such as these.
  void begin(nb::handle frames);
  [[nodiscard]] bool began() const noexcept { return writer_ != nullptr; }

  Ticket submit(nb::handle frames);

  /// Writes everything and completes the file.
  void close();

  /// Ends without the frames that are not written yet. What was written is kept where the
  /// settings say so. @returns where; empty: nowhere.
  std::string abandon();

  /// From any thread: makes every other call end.
  void cancel() noexcept;

  [[nodiscard]] std::string counters() const;  ///< as JSON
  /// What failed first, with the frame's number, once abandoned; empty where nothing did.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] std::uint64_t frames_out() const noexcept { return frames_out_; }
  [[nodiscard]] const std::string& path() const noexcept { return options_.path; }
  [[nodiscard]] nb::object format() const;

 private:
  struct Borrowed {
    std::shared_ptr<const HeldArray> array;
    FrameView view;
  };
  [[nodiscard]] Borrowed borrow(nb::handle frames);
  void choose_device(dlpack::Device place);
  [[nodiscard]] std::string axes_of(const HeldArray& array);
  [[nodiscard]] PixelFormat choose_pixels(std::uint64_t channels) const;
  [[nodiscard]] bool is_at_home() const noexcept;
  void leave() noexcept;

  std::stop_source stop_{};  // of what waits before there is a writer to cancel
  Options options_;
  std::shared_ptr<FrameSink> sink_;
  Stream stream_;  // of the device: submits wait here for what made the frames
  FrameFormat format_{};
  std::size_t guessed_rank_{};  // of the array whose axes were guessed last
  std::string guessed_axes_;
  std::shared_ptr<FrameWriter> writer_;
  std::uint64_t frames_out_{};
  std::string counters_{"{}"};
  std::string failure_;
  bool ended_{};
  int process_;
};

void bind_writer(nb::module_& module);
void bind_archives(nb::module_& module);
void bind_errors();
void bind_activity(nb::module_& module);

}  // namespace offramp::python
