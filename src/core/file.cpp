// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>
#include <offramp/core/file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

namespace offramp {
namespace {

constexpr std::string_view own_folder = ".";

std::string_view folder_of(std::string_view path) noexcept {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return own_folder;
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

int open_retrying(const char* path, int flags, mode_t mode = 0) noexcept {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Follows symbolic links by hand, as the last one may point to a file that is yet to be made.
std::string follow_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < 40; ++links) {
    std::array<char, PATH_MAX> to{};
    const ssize_t size = ::readlink(at.c_str(), to.data(), to.size());
    if (size < 0) return at;  // no link, or nothing there
    const std::string_view next(to.data(), static_cast<std::size_t>(size));
    at = next.starts_with('/') ? std::string(next) : fmt::format("{}/{}", folder_of(at), next);
  }
  throw IoError("write", path, ELOOP);
}

std::string temporary_name(const std::string& target, std::uint32_t random) {
  const auto slash = target.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  // Leaves room for the ending where the name is as long as names can be.
  const std::size_t kept = std::min<std::size_t>(target.size() - base, NAME_MAX - 13);
  return fmt::format("{}.tmp-{:08x}", std::string_view(target).substr(0, base + kept), random);
}

void sync_folder(const std::string& target, const std::string& path) {
  const int fd = open_retrying(std::string(folder_of(target)).c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;  // a folder that may be written but not read: nothing to be done
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0 && failed != EINVAL && failed != ENOTSUP && failed != EROFS) {
    throw IoError("sync the folder of the finished file", path, failed);
  }
}

// Renames without replacing; 0 or the errno.
int rename_new(const char* from, const char* to) noexcept {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without the flag: a hard link fails just so where the name is taken.
  if (::link(from, to) == 0) {
    ::unlink(from);
    return 0;
  }
  if (errno != EPERM && errno != ENOSYS && errno != ENOTSUP) return errno;
  // One without links either: look first, which leaves a moment for another to take the name.
  struct stat info {};
  if (::lstat(to, &info) == 0) return EEXIST;
  return ::rename(from, to) == 0 ? 0 : errno;
}

// Keeps a write into a pipe that nobody reads from ending the process: the signal goes to the
// writing thread, which takes it away.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = ::sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const int failed = errno;
    const timespec at_once{};
    if (!was_pending_) {
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = failed;
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_{};
};

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Non-blocking, so that opening a pipe that nobody writes to returns; regular files ignore it.
  fd_ = open_retrying(path_.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd_ < 0) throw IoError("open for reading", path_, errno);
  struct stat info {};
  int failed = ::fstat(fd_, &info) == 0 ? 0 : errno;
  std::string_view remedy;
  if (failed == 0 && S_ISDIR(info.st_mode)) {
    failed = EISDIR;
  } else if (failed == 0 && !S_ISREG(info.st_mode)) {
    failed = ESPIPE;
    remedy = "it is a pipe or a device: copy it to a regular file first";
  }
  if (failed != 0) {
    ::close(std::exchange(fd_, -1));
    throw IoError("open for reading", path_, failed, remedy);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
  changed_s_ = info.st_mtim.tv_sec;
  changed_ns_ = info.st_mtim.tv_nsec;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      size_(other.size_),
      changed_s_(other.changed_s_),
      changed_ns_(other.changed_ns_),
      fd_(std::exchange(other.fd_, -1)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(changed_s_, other.changed_s_);
  std::swap(changed_ns_, other.changed_ns_);
  std::swap(fd_, other.fd_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > static_cast<std::uint64_t>(INT64_MAX) - out.size()) {
    throw IoError("read", path_, EOVERFLOW);
  }
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw IoError("read", path_, errno);
    }
    if (got == 0) {
      throw DataError(Error{.code = ErrorCode::truncated,
                            .what = fmt::format("the file ends at byte {}, {} more were to be read",
                                                offset, out.size()),
                            .path = path_,
                            .remedy = "the file is cut, or changed while it was read"});
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void InputFile::expect_unchanged() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) throw IoError("read", path_, errno);
  if (static_cast<std::uint64_t>(info.st_size) == size_ && info.st_mtim.tv_sec == changed_s_ &&
      info.st_mtim.tv_nsec == changed_ns_) {
    return;
  }
  throw MachineError(
      Error{.code = ErrorCode::io,
            .what = "the file was written to while it was read",
            .path = path_,
            .remedy = "start again when it is finished, and leave it alone meanwhile"});
}

void InputFile::read_unchanged(std::uint64_t offset, std::span<std::byte> out) const {
  try {
    read(offset, out);
  } catch (const DataError&) {
    expect_unchanged();  // it was cut: the better thing to say
    throw;
  }
  expect_unchanged();
}

OutputFile::OutputFile(std::string path, Existing existing, Sync sync)
    : path_(std::move(path)), existing_(existing), sync_(sync) {
  struct stat info {};
  // A pipe's or device's links are the system's to follow: /dev/stdout and /dev/fd/N name nothing.
  const bool is_plain = ::stat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode);
  target_ = is_plain ? follow_links(path_) : path_;
  if (target_.empty() || target_.ends_with('/')) {
    throw IoError("write", path_, target_.empty() ? ENOENT : EISDIR);
  }
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) throw IoError("write", path_, errno);
  if (exists && S_ISDIR(info.st_mode)) throw IoError("write", path_, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = open_retrying(target_.c_str(), O_WRONLY | O_NOCTTY);
    if (fd_ < 0) throw IoError("write", path_, errno);
    return;
  }
  if (exists && existing == Existing::refuse) throw IoError("write", path_, EEXIST);

  std::random_device random;
  for (int attempt = 0; attempt < 100 && fd_ < 0; ++attempt) {
    temporary_path_ = temporary_name(target_, random());
    // 0666 so that the umask decides, as for any new file.
    fd_ = open_retrying(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd_ < 0 && errno != EEXIST) throw IoError("write", path_, errno);
  }
  if (fd_ < 0) throw IoError("make a temporary file beside", path_, EEXIST, "clean up the folder");
  // Best effort: a file that replaces another is as private as that one.
  if (exists) (void)!::fchmod(fd_, info.st_mode & 07777);
}

OutputFile OutputFile::standard_output() {
  OutputFile file;
  file.path_ = "standard output";
  file.fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (file.fd_ < 0) throw IoError("write", file.path_, errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      size_(other.size_),
      fd_(std::exchange(other.fd_, -1)),
      existing_(other.existing_),
      sync_(other.sync_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  temporary_path_ = std::exchange(other.temporary_path_, {});
  size_ = other.size_;
  fd_ = std::exchange(other.fd_, -1);
  existing_ = other.existing_;
  sync_ = other.sync_;
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::append(std::span<const std::byte> bytes) { append({&bytes, 1}); }

void OutputFile::append(std::span<const std::span<const std::byte>> pieces) {
  std::optional<WithoutSigpipe> quiet;
  if (temporary_path_.empty()) quiet.emplace();  // it may be a pipe
  std::array<iovec, 8> batch{};
  while (!pieces.empty()) {
    const std::size_t count = std::min(pieces.size(), batch.size());
    for (std::size_t i = 0; i < count; ++i) {
      batch[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
    }
    iovec* next = batch.data();
    iovec* const end = next + count;
    while (next != end) {
      if (next->iov_len == 0) {
        ++next;
        continue;
      }
      const ssize_t wrote = ::writev(fd_, next, static_cast<int>(end - next));
      if (wrote < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN) {  // a pipe that somebody made not to wait
          pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
          (void)!::poll(&room, 1, -1);
          continue;
        }
        throw IoError("write", path_, errno);
      }
      size_ += static_cast<std::uint64_t>(wrote);
      auto left = static_cast<std::size_t>(wrote);
      while (next != end && left >= next->iov_len) left -= (next++)->iov_len;
      if (left > 0) {
        next->iov_base = static_cast<std::byte*>(next->iov_base) + left;
        next->iov_len -= left;
      }
    }
    pieces = pieces.subspan(count);
  }
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset > static_cast<std::uint64_t>(INT64_MAX) - bytes.size()) {
    throw IoError("write", path_, EFBIG);
  }
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0) {
      if (errno == EINTR) continue;
      throw IoError("write", path_, errno,
                    errno == ESPIPE ? "a pipe takes bytes in order only: name a regular file" : "");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
}

void OutputFile::truncate(std::uint64_t size) {
  if (temporary_path_.empty() || size >= size_) return;
  const auto end = static_cast<off_t>(size);
  if (::ftruncate(fd_, end) != 0 || ::lseek(fd_, end, SEEK_SET) < 0) {
    throw IoError("cut", path_, errno);
  }
  size_ = size;
}

void OutputFile::commit() {
  if (fd_ < 0) throw LogicError("OutputFile::commit is called once, on a file that is open");
  const bool direct = temporary_path_.empty();
  if (sync_ == Sync::yes && ::fsync(fd_) != 0) {
    // Pipes and most devices cannot be synced, which says nothing against their bytes.
    if (!(direct && (errno == EINVAL || errno == EROFS || errno == ENOTSUP))) {
      throw IoError("sync", path_, errno);
    }
  }
  // Linux closes the descriptor also where close fails.
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) throw IoError("write", path_, errno);
  if (direct) return;
  int failed = 0;
  if (existing_ == Existing::refuse) {
    failed = rename_new(temporary_path_.c_str(), target_.c_str());
  } else if (::rename(temporary_path_.c_str(), target_.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) throw IoError("put the finished file in place", path_, failed);
  temporary_path_.clear();
  if (sync_ == Sync::yes) sync_folder(target_, path_);
}

std::string OutputFile::leave() noexcept try {
  if (temporary_path_.empty()) return {};
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  const auto slash = target_.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  auto dot = target_.rfind('.');
  if (dot == std::string::npos || dot <= base) dot = target_.size();
  for (int number = 1; number < 1000; ++number) {
    const std::string name = fmt::format("{}.partial{}{}", std::string_view(target_).substr(0, dot),
                                         number == 1 ? "" : fmt::format("-{}", number),
                                         std::string_view(target_).substr(dot));
    const int failed = rename_new(temporary_path_.c_str(), name.c_str());
    if (failed == EEXIST) continue;
    if (failed != 0) break;
    temporary_path_.clear();
    return name;
  }
  return {};
} catch (...) {  // no memory for a name
  return {};
}

void OutputFile::discard() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
}

bool same_file(const std::string& a, const std::string& b) noexcept {
  struct stat info_a {};
  struct stat info_b {};
  return ::stat(a.c_str(), &info_a) == 0 && ::stat(b.c_str(), &info_b) == 0 &&
         info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

}  // namespace offramp
