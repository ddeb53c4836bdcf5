// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/output_io.hpp"

#include <offramp/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <type_traits>
#include <utility>

extern "C" {
#include <libavformat/version.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace offramp {
namespace {

constexpr int buffer_size = 256 << 10;

// FFmpeg 7 made the data that is written const.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WrittenByte = const std::uint8_t;
#else
using WrittenByte = std::uint8_t;
#endif

}  // namespace

OutputIo::OutputIo(OutputFile file) : file_(std::move(file)) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_size));
  if (buffer) {
    context_ = avio_alloc_context(
        buffer, buffer_size, 1, this, nullptr,
        [](void* self, WrittenByte* data, int size) { return write(self, data, size); }, seek);
  }
  if (!context_) {
    av_free(buffer);
    throw OutOfMemory(buffer_size, "a video file");
  }
  // Into a pipe or device nothing can be mended.
  if (file_.temporary_path().empty()) context_->seekable = 0;
}

OutputIo::~OutputIo() {
  av_freep(&context_->buffer);
  avio_context_free(&context_);
}

void OutputIo::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, {}));
}

// Containers go back to mend what they wrote: that is written in place, the rest appended.
void OutputIo::put(const std::byte* data, std::size_t size) {
  if (position_ < file_.size()) {
    const auto inside =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, file_.size() - position_));
    file_.write_at(position_, {data, inside});
    position_ += inside;
    data += inside;
    size -= inside;
  }
  if (size == 0) return;
  file_.append({data, size});
  position_ += size;
}

int OutputIo::write(void* self, const std::uint8_t* data, int size) noexcept {
  auto& io = *static_cast<OutputIo*>(self);
  try {
    if (io.thrown_) return AVERROR(EIO);
    io.put(reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size));
    return size;
  } catch (...) {
    io.thrown_ = std::current_exception();
    return AVERROR(EIO);
  }
}

std::int64_t OutputIo::seek(void* self, std::int64_t offset, int whence) noexcept {
  auto& io = *static_cast<OutputIo*>(self);
  const auto size = static_cast<std::int64_t>(io.file_.size());
  if (whence == AVSEEK_SIZE) return size;
  const std::int64_t from = whence == SEEK_CUR   ? static_cast<std::int64_t>(io.position_)
                            : whence == SEEK_END ? size
                                                 : 0;
  if (from + offset < 0 || from + offset > size) return AVERROR(EINVAL);
  io.position_ = static_cast<std::uint64_t>(from + offset);
  return from + offset;
}

}  // namespace offramp
#endif
