// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/frame_file.hpp"

#include "core/checks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace offramp {

namespace {

// Waits until somebody reads the pipe. @returns it opened, so that the next to open it waits no
// more; -1 for what is no pipe.
int open_with_reader(const std::string& path, const std::stop_token& cancel) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return -1;
  while (!cancel.stop_requested()) {
    const int pipe = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe >= 0 || (errno != ENXIO && errno != EINTR)) return pipe;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw DataError({.code = ErrorCode::cancelled,
                   .what = "cancelled while waiting for a reader",
                   .path = path,
                   .remedy = {}});
}

}  // namespace

OutputFile FrameTarget::open() const {
  if (is_standard_output()) return OutputFile::standard_output();
  const int reader = open_with_reader(path, cancel);
  const auto close = [](const int* at) {
    if (*at >= 0) ::close(*at);
  };
  const std::unique_ptr<const int, decltype(close)> closed(&reader, close);
  return {path, existing, OutputFile::Sync::no};
}

IoError in_frame(const IoError& error, std::uint64_t number) {
  return {fmt::format("write frame {}", number), error.error().path, error.errno_value(),
          error.error().remedy};
}

void expect_format(std::span<const PixelFormat> formats, const FrameFormat& format,
                   const std::string& path, std::string_view kind) {
  constexpr std::uint32_t most = INT32_MAX;
  if (format.width == 0 || format.height == 0 || format.width > most || format.height > most) {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = fmt::format("frames of {} x {}", format.width, format.height),
                     .path = path,
                     .remedy = "width and height are at least 1 and less than 2^31"});
  }
  if (format.rate.num == 0 || format.rate.den == 0 || format.rate.num > most ||
      format.rate.den > most) {
    throw DataError(
        {.code = ErrorCode::unsupported,
         .what = fmt::format("a rate of {}/{} frames a second", format.rate.num, format.rate.den),
         .path = path,
         .remedy = "state a rate such as 24 or 30000/1001"});
  }
  if (std::ranges::find(formats, format.pixels) != formats.end()) return;
  std::vector<std::string_view> names;
  for (const PixelFormat each : formats) names.push_back(name_of(each));
  throw DataError({.code = ErrorCode::unsupported,
                   .what = fmt::format("{} takes no {} frames", kind, name_of(format.pixels)),
                   .path = path,
                   .remedy = fmt::format("choose one of {}", fmt::join(names, ", "))});
}

void FrameFileSink::begin(const FrameFormat& format) {
  OFFRAMP_EXPECTS(!file_, "a sink begins once");
  expect_format(formats(), format, target_.shown(), kind());
  format_ = format;
  const std::string text = front(format);
  file_.emplace(target_.open());
  file_->append(std::as_bytes(std::span(text)));
  bytes_ = file_->size();
}

void FrameFileSink::write(std::uint64_t number, std::span<const std::byte> bytes) {
  OFFRAMP_EXPECTS(file_ && number == frames_, "frames come in order, after begin");
  OFFRAMP_EXPECTS(bytes.size() == format_.size(), "a frame has the size of its format");
  const std::array pieces{std::as_bytes(std::span(prefix())), bytes};
  write_frame(number, [&] { file_->append(pieces); });
  bytes_ = whole_ = file_->size();
  ++frames_;
}

void FrameFileSink::finish() {
  OFFRAMP_EXPECTS(file_, "finish comes once, after begin");
  complete(*file_, frames_);
  file_->commit();
  file_.reset();
}

void FrameFileSink::keep_partial() noexcept {
  if (!file_ || frames_ == 0) return;
  try {
    file_->truncate(whole_);  // where the disk was full, half a frame
    complete(*file_, frames_);
  } catch (...) {  // the frames are there all the same
  }
  partial_ = file_->leave();
  file_.reset();
}

}  // namespace offramp
