// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/input_io.hpp"

#include <offramp/core/error.hpp>

#include <cstddef>
#include <span>
#include <utility>

extern "C" {
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace offramp {
namespace {

constexpr int buffer_size = 32 << 10;

}  // namespace

InputIo::InputIo(FrameInput input) : input_(std::move(input)) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_size));
  if (buffer) context_ = avio_alloc_context(buffer, buffer_size, 0, this, read, nullptr, nullptr);
  if (!context_) {
    av_free(buffer);
    throw OutOfMemory(buffer_size, "reading a video");
  }
}

InputIo::~InputIo() {
  av_freep(&context_->buffer);
  avio_context_free(&context_);
}

void InputIo::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, {}));
}

int InputIo::read(void* self, std::uint8_t* to, int size) noexcept {
  auto& io = *static_cast<InputIo*>(self);
  if (io.thrown_) return AVERROR_EXIT;
  try {
    const std::size_t got =
        io.input_.read({reinterpret_cast<std::byte*>(to), static_cast<std::size_t>(size)});
    return got == 0 ? AVERROR_EOF : static_cast<int>(got);
  } catch (...) {
    io.thrown_ = std::current_exception();
    return AVERROR_EXIT;
  }
}

}  // namespace offramp
#endif
