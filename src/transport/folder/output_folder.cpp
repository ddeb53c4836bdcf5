// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/output_folder.hpp"

#include "core/checks.hpp"

#include <offramp/core/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>

namespace offramp {
namespace {

/// An open file of the folder.
class Descriptor {
 public:
  Descriptor(int folder, const std::string& file, int flags) noexcept {
    do {
      fd_ = ::openat(folder, file.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EINTR);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

  /// Some file systems report a full disk only here; 0 or the errno.
  [[nodiscard]] int close() noexcept {
    return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int fd_{-1};
};

int write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  if (offset > static_cast<std::uint64_t>(INT64_MAX) - bytes.size()) return EFBIG;
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

void sync_parent(const std::string& target, const std::string& path) {
  const auto slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : target.substr(0, slash);
  const Descriptor folder(AT_FDCWD, parent + "/.", O_RDONLY | O_DIRECTORY);
  if (folder.get() < 0) return;  // one that may be written but not read
  if (::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
    throw IoError("sync the folder of the finished folder", path, errno);
  }
}

}  // namespace

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

OutputFolder::OutputFolder(std::string path, std::optional<std::vector<std::string>> replaced)
    : path_(std::move(path)), target_(without_slash(path_)), replaced_(std::move(replaced)) {
  if (replaced_) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(target_.c_str(), nullptr),
                                                           &std::free);
    if (!real) throw IoError("write", path_, errno);
    target_ = real.get();
  }
  std::random_device random;
  int failed = EEXIST;
  for (int attempt = 0; attempt < 100 && failed == EEXIST; ++attempt) {
    temporary_path_ = fmt::format("{}.tmp-{:08x}", target_, random());
    failed = ::mkdir(temporary_path_.c_str(), 0777) == 0 ? 0 : errno;
  }
  if (failed != 0) {
    temporary_path_.clear();
    throw IoError("make a folder beside", path_, failed);
  }
  folder_ = ::open(temporary_path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) {
    failed = errno;
    discard();
    throw IoError("write", path_, failed);
  }
}

OutputFolder::~OutputFolder() { discard(); }

void OutputFolder::create(const std::string& file, std::span<const std::byte> front) {
  OFFRAMP_EXPECTS(!file.empty() && file != "." && file != ".." &&
                      file.find_first_of(std::string("/\0", 2)) == std::string::npos,
                  "a file in a folder has a plain name");
  files_.push_back(file);
  Descriptor made(folder_, file, O_WRONLY | O_CREAT | O_EXCL);
  if (made.get() < 0) {
    const int failed = errno;
    files_.pop_back();
    throw IoError("make " + file + " in", path_, failed);
  }
  int failed = write_all(made.get(), 0, front);
  if (failed == 0) failed = made.close();
  if (failed != 0) throw IoError("write " + file + " in", path_, failed);
}

void OutputFolder::write_at(const std::string& file, std::uint64_t offset,
                            std::span<const std::byte> bytes) const {
  Descriptor to(folder_, file, O_WRONLY);
  int failed = to.get() < 0 ? errno : write_all(to.get(), offset, bytes);
  if (failed == 0) failed = to.close();
  if (failed != 0) throw IoError("write " + file + " in", path_, failed);
}

void OutputFolder::commit() {
  OFFRAMP_EXPECTS(!temporary_path_.empty(), "OutputFolder::commit is called once");
  for (const std::string& file : files_) {
    const Descriptor written(folder_, file, O_RDONLY);
    if (written.get() < 0 || ::fsync(written.get()) != 0) {
      throw IoError("sync " + file + " in", path_, errno);
    }
  }
  if (::fsync(folder_) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw IoError("sync", path_, errno);
  }
  put_in_place();
  ::close(std::exchange(folder_, -1));
  sync_parent(target_, path_);
}

void OutputFolder::put_in_place() {
  constexpr std::string_view action = "put the finished folder in place";
  const char* const from = temporary_path_.c_str();
  const char* const to = target_.c_str();
  if (!replaced_) {
    int failed = ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (failed == EINVAL || failed == ENOSYS) {
      // A file system without the flag; a plain rename replaces an empty folder at most.
      failed = ::rename(from, to) == 0 ? 0 : errno;
    }
    if (failed != 0) throw IoError(action, path_, failed);
    temporary_path_.clear();
    return;
  }
  std::string old = temporary_path_;
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) throw IoError(action, path_, errno);
    old += ".old";
    if (::rename(to, old.c_str()) != 0) throw IoError(action, path_, errno);
    if (::rename(from, to) != 0) {
      const int failed = errno;
      static_cast<void>(::rename(old.c_str(), to));
      throw IoError(action, path_, failed);
    }
  }
  temporary_path_.clear();
  for (const std::string& file : *replaced_) ::unlink((old + '/' + file).c_str());
  if (::rmdir(old.c_str()) != 0)
    throw IoError("remove the replaced folder " + old + " of", path_, errno);
}

void OutputFolder::discard() noexcept {
  if (!temporary_path_.empty()) {
    for (const std::string& file : files_) ::unlinkat(folder_, file.c_str(), 0);
    ::rmdir(temporary_path_.c_str());
    temporary_path_.clear();
  }
  if (folder_ >= 0) ::close(std::exchange(folder_, -1));
}

}  // namespace offramp
