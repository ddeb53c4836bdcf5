// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/frame_input.hpp"

#include <cstdint>
#include <exception>

extern "C" {
#include <libavformat/avio.h>
}

namespace offramp {

/// A FrameInput as FFmpeg's readers of containers see it, from the front to the end: so that a wait
/// for a pipe can be cancelled. What it throws is kept, as no exception may cross their frames.
class InputIo {
 public:
  explicit InputIo(FrameInput input);
  ~InputIo();
  InputIo(const InputIo&) = delete;
  InputIo& operator=(const InputIo&) = delete;

  [[nodiscard]] AVIOContext* context() noexcept { return context_; }

  /// Throws what the input has thrown in a call of the reader, once.
  void rethrow();

 private:
  static int read(void* self, std::uint8_t* to, int size) noexcept;

  FrameInput input_;
  std::exception_ptr thrown_{};
  AVIOContext* context_{};
};

}  // namespace offramp
