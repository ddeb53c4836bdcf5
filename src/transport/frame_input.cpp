// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_input.hpp"

#include <offramp/core/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace offramp {

FrameInput::FrameInput(const std::string& path, std::stop_token cancel)
    : name_(path == "-" ? "standard input" : path), cancel_(std::move(cancel)) {
  if (path == "-") {
    fd_ = STDIN_FILENO;
  } else {
    // Without waiting for somebody to write into a pipe; reads then wait in poll.
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw IoError("open", path, errno);
    owned_ = true;
  }
  struct stat info {};
  if (fstat(fd_, &info) != 0 || S_ISDIR(info.st_mode)) {
    const int reason = S_ISDIR(info.st_mode) ? EISDIR : errno;
    if (owned_) close(std::exchange(fd_, -1));
    throw IoError("read", name_, reason);
  }
  if (S_ISREG(info.st_mode)) size_ = static_cast<std::uint64_t>(info.st_size);
}

FrameInput::FrameInput(FrameInput&& other) noexcept
    : name_(std::move(other.name_)),
      cancel_(std::move(other.cancel_)),
      size_(other.size_),
      fd_(std::exchange(other.fd_, -1)),
      owned_(std::exchange(other.owned_, false)),
      head_(std::move(other.head_)) {}

FrameInput::~FrameInput() {
  if (owned_) close(fd_);
}

void FrameInput::wait_readable() const {
  if (size_) return;
  for (;;) {
    if (cancel_.stop_requested()) {
      throw DataError({.code = ErrorCode::cancelled,
                       .what = "cancelled while waiting for frames",
                       .path = name_,
                       .remedy = {}});
    }
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, cancel_.stop_possible() ? 50 : -1);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw IoError("wait for", name_, errno);
  }
}

std::size_t FrameInput::read_some(std::byte* to, std::size_t size) {
  for (;;) {
    wait_readable();
    const ssize_t got = ::read(fd_, to, std::min<std::size_t>(size, 1u << 30));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR && errno != EAGAIN) throw IoError("read", name_, errno);
  }
}

std::string_view FrameInput::peek(std::size_t count) {
  count = std::min(count, head_room);
  while (head_.size() < count) {
    char bytes[head_room];
    const std::size_t got = read_some(reinterpret_cast<std::byte*>(bytes), count - head_.size());
    if (got == 0) break;
    head_.append(bytes, got);
  }
  return std::string_view(head_).substr(0, count);
}

std::size_t FrameInput::read(std::span<std::byte> out) {
  std::size_t done = std::min(head_.size(), out.size());
  std::memcpy(out.data(), head_.data(), done);
  head_.erase(0, done);
  while (done < out.size()) {
    const std::size_t got = read_some(out.data() + done, out.size() - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::optional<std::string> FrameInput::read_line() {
  // Bytes behind the line belong to a frame, which is read in one piece: few are looked at here.
  std::size_t looked = 0;
  for (std::size_t want = 64; looked < head_room; want += 64) {
    const std::string_view head = peek(want);
    const std::size_t end = head.find('\n', looked);
    if (end != std::string_view::npos) {
      std::string line(head.substr(0, end));
      head_.erase(0, end + 1);
      return line;
    }
    if (head.size() < std::min(want, head_room)) break;
    looked = head.size();
  }
  return std::nullopt;
}

}  // namespace offramp
