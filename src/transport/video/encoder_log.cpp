// SPDX-License-Identifier: Apache-2.0
#ifdef OFFRAMP_HAS_FFMPEG
#include "transport/video/encoder_log.hpp"

#include <array>
#include <cstdarg>
#include <cstdlib>
#include <mutex>
#include <utility>

extern "C" {
#include <libavutil/error.h>
#include <libavutil/log.h>
}

namespace offramp {
namespace {

std::mutex last_mutex;
std::string last;

void keep_errors(void* from, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  std::array<char, 512> line{};
  int prefix = 1;
  av_log_format_line2(from, level, format, arguments, line.data(), static_cast<int>(line.size()),
                      &prefix);
  std::string text(line.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::lock_guard lock(last_mutex);
  last = std::move(text);
}

}  // namespace

void take_over_av_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    av_log_set_callback(keep_errors);
    // SVT-AV1 writes its lines itself and reads only this.
    ::setenv("SVT_LOG", "1", 0);
  });
}

std::string last_av_error() {
  const std::lock_guard lock(last_mutex);
  return std::exchange(last, {});
}

std::string av_words(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

}  // namespace offramp
#endif
