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

namespace offramp::encoding {
namespace {

thread_local LogCapture* listening = nullptr;

}  // namespace

struct LogListener {
  static void hear(void* from, int level, const char* format, va_list arguments) {
    if (!listening) {
      av_log_default_callback(from, level, format, arguments);
      return;
    }
    if (level >= LogCapture::level_offset) level -= LogCapture::level_offset;
    if (level > AV_LOG_ERROR || !listening->first_.empty()) return;
    std::array<char, 512> line{};
    int prefix = 0;
    av_log_format_line2(nullptr, level, format, arguments, line.data(),
                        static_cast<int>(line.size()), &prefix);
    try {
      std::string text(line.data());
      while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '.')) {
        text.pop_back();
      }
      listening->first_ = std::move(text);
    } catch (...) {  // no memory: the number's words will do
    }
  }
};

LogCapture::LogCapture() : outer_(listening) {
  static std::once_flag once;
  std::call_once(once, [] {
    av_log_set_callback(LogListener::hear);
    // SVT-AV1 prints by itself; this is all that it listens to. Errors are its level 1.
    ::setenv("SVT_LOG", "0", 0);
  });
  listening = this;
}

LogCapture::~LogCapture() { listening = outer_; }

std::string LogCapture::or_words_of(int code) const {
  if (!first_.empty()) return first_;
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

}  // namespace offramp::encoding
#endif
