// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

extern "C" {
#include <libavformat/avio.h>
}

namespace offramp {

/// An OutputFile as FFmpeg's containers write to it. What the file throws is kept, as no exception
/// may cross their frames.
class OutputIo {
 public:
  explicit OutputIo(OutputFile file);
  ~OutputIo();
  OutputIo(const OutputIo&) = delete;
  OutputIo& operator=(const OutputIo&) = delete;

  [[nodiscard]] AVIOContext* context() noexcept { return context_; }
  [[nodiscard]] OutputFile& file() noexcept { return file_; }
  [[nodiscard]] const OutputFile& file() const noexcept { return file_; }

  /// Throws what the file has thrown in a call of the container, once.
  void rethrow();

 private:
  static int write(void* self, const std::uint8_t* data, int size) noexcept;
  static std::int64_t seek(void* self, std::int64_t offset, int whence) noexcept;
  void put(const std::byte* data, std::size_t size);

  OutputFile file_;
  std::uint64_t position_{};
  std::exception_ptr thrown_{};
  AVIOContext* context_{};
};

}  // namespace offramp
