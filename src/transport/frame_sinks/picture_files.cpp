// SPDX-License-Identifier: Apache-2.0
#include "transport/frame_sinks/picture_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <random>
#include <string_view>
#include <utility>

namespace offramp {
namespace {

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Renames without replacing; 0 or the errno.
int rename_new(const char* from, const char* to) noexcept {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat info {};  // a file system without the flag
  if (::lstat(to, &info) == 0) return EEXIST;
  return ::rename(from, to) == 0 ? 0 : errno;
}

// Names of folders get an ending, which has to have room where the name is as long as names can be.
std::string with_room(std::string stem) {
  constexpr std::size_t most = NAME_MAX - 13;  // ".tmp-" and 8 digits
  const auto slash = stem.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  if (stem.size() - base > most) stem.resize(base + most);
  return stem;
}

// Calls `visit` with each name in the folder, as long as it returns true.
template <class Visit>
void for_names(const std::string& folder, Visit visit) {
  const auto close = [](DIR* at) { ::closedir(at); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  if (!open) throw IoError("read the folder", folder, errno);
  while (const dirent* entry = ::readdir(open.get())) {
    if (!visit(std::string_view(entry->d_name))) return;
  }
}

}  // namespace

PictureFiles::PictureFiles(FrameTarget target, std::string_view extension)
    : target_(std::move(target)) {
  const std::string& path = target_.path;
  const bool exists = is_folder(path);
  if (path.ends_with('/') || exists) {
    whole_folder_ = true;
    folder_ = path;
    while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
    // In a folder that is there, not beside it: that may be another disk, or not ours to write to.
    stem_ = exists ? fmt::format("{}/frames", folder_) : with_room(folder_);
    before_ = "frame_";
    after_ = extension;
    digits_ = 6;
    return;
  }
  const auto slash = path.rfind('/');
  folder_ = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto percent = name.find('%');
  if (percent == std::string::npos) {
    numbered_ = false;
    before_ = name;
  } else {
    std::size_t at = percent + 1;
    const bool zeros = at < name.size() && name[at] == '0';
    while (at < name.size() && name[at] >= '0' && name[at] <= '9' && digits_ < 100) {
      digits_ = digits_ * 10 + static_cast<std::size_t>(name[at++] - '0');
    }
    const bool sound = at < name.size() && name[at] == 'd' && digits_ <= 18 &&
                       (zeros || digits_ == 0) && name.find('%', at) == std::string::npos;
    if (!sound) {
      throw DataError({.code = ErrorCode::unsupported,
                       .what = "a pattern of names holds one number field",
                       .path = path,
                       .remedy = "write it as in frame_%05d.png"});
    }
    before_ = name.substr(0, percent);
    after_ = name.substr(at + 1);
  }
  std::string stem = before_.substr(0, numbered_ ? std::string::npos : before_.rfind('.'));
  while (!stem.empty() && (stem.ends_with('_') || stem.ends_with('-') || stem.ends_with('.'))) {
    stem.pop_back();
  }
  stem_ = with_room(fmt::format("{}/{}", folder_, stem.empty() ? "frames" : stem));
}

PictureFiles::~PictureFiles() {
  if (temporary_.empty()) return;
  try {
    for (std::uint64_t number = 0; number < count_; ++number) {
      ::unlink(fmt::format("{}/{}", temporary_, name_of(number)).c_str());
    }
  } catch (...) {  // no memory: the folder stays
  }
  ::rmdir(temporary_.c_str());
}

std::string PictureFiles::name_of(std::uint64_t number) const {
  return numbered_
             ? fmt::format("{}{:0{}}{}", before_, number, std::max<std::size_t>(digits_, 1), after_)
             : before_;
}

std::string PictureFiles::path_of(std::uint64_t number) const {
  return folder_ == "." ? name_of(number) : fmt::format("{}/{}", folder_, name_of(number));
}

// Whether a file of that name would be in the way of this sequence, from picture `from` on.
bool PictureFiles::is_ours(std::string_view name, std::uint64_t from) const noexcept {
  if (!numbered_) return name == before_;
  if (name.size() <= before_.size() + after_.size() || !name.starts_with(before_) ||
      !name.ends_with(after_)) {
    return false;
  }
  name.remove_prefix(before_.size());
  name.remove_suffix(after_.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number >= from;
}

void PictureFiles::begin() {
  struct stat info {};
  const int missing = ::stat(folder_.c_str(), &info) == 0 ? 0 : errno;
  const bool exists = missing == 0;
  if (exists && !S_ISDIR(info.st_mode)) throw IoError("write pictures to", folder_, ENOTDIR);
  // A folder that is yet to be made takes the name, which a link to nowhere has.
  if (!exists && (!whole_folder_ || ::lstat(folder_.c_str(), &info) == 0)) {
    throw IoError("write pictures to", folder_, missing);
  }
  if (exists && target_.existing == OutputFile::Existing::refuse) {
    for_names(folder_, [&](std::string_view name) {
      if (is_ours(name, 0)) throw IoError("write", fmt::format("{}/{}", folder_, name), EEXIST);
      return true;
    });
  }
  std::random_device random;
  int failed = EEXIST;
  for (int attempt = 0; attempt < 100 && failed == EEXIST; ++attempt) {
    std::string name = fmt::format("{}.tmp-{:08x}", stem_, random());
    failed = ::mkdir(name.c_str(), 0777) == 0 ? 0 : errno;
    if (failed == 0) temporary_ = std::move(name);
  }
  if (failed != 0) throw IoError("make a folder beside", target_.path, failed);
}

void PictureFiles::add(std::span<const std::byte> bytes) {
  if (!numbered_ && count_ > 0) {
    throw DataError({.code = ErrorCode::unsupported,
                     .what = "one picture file holds one frame, and a second one came",
                     .path = target_.path,
                     .remedy = "name a folder ('frames/') or a pattern ('frame_%05d.png')"});
  }
  try {
    OutputFile file(fmt::format("{}/{}", temporary_, name_of(count_)), OutputFile::Existing::refuse,
                    OutputFile::Sync::no);
    file.append(bytes);
    file.commit();
  } catch (const IoError& error) {
    throw IoError("write", path_of(count_), error.errno_value(), error.error().remedy);
  }
  ++count_;
}

void PictureFiles::commit() {
  if (whole_folder_ && rename_new(temporary_.c_str(), folder_.c_str()) == 0) {
    temporary_.clear();
    return;
  }
  for (std::uint64_t number = 0; number < count_; ++number) move(number);
  if (target_.existing == OutputFile::Existing::overwrite && numbered_) remove_longer();
  ::rmdir(temporary_.c_str());
  temporary_.clear();
}

void PictureFiles::move(std::uint64_t number) {
  const std::string from = fmt::format("{}/{}", temporary_, name_of(number));
  const std::string to = path_of(number);
  int failed = 0;
  if (target_.existing == OutputFile::Existing::refuse) {
    failed = rename_new(from.c_str(), to.c_str());
  } else if (::rename(from.c_str(), to.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) throw IoError("put the finished picture in place", to, failed);
}

void PictureFiles::remove_longer() const {
  for_names(folder_, [&](std::string_view name) {
    if (is_ours(name, count_)) ::unlink(fmt::format("{}/{}", folder_, name).c_str());
    return true;
  });
}

std::string PictureFiles::leave() noexcept try {
  if (temporary_.empty() || count_ == 0) return {};
  for (int number = 1; number < 1000; ++number) {
    std::string name =
        fmt::format("{}.partial{}", stem_, number == 1 ? "" : fmt::format("-{}", number));
    const int failed = rename_new(temporary_.c_str(), name.c_str());
    if (failed == EEXIST || failed == ENOTEMPTY) continue;
    if (failed != 0) break;
    temporary_.clear();
    return name;
  }
  return {};
} catch (...) {  // no memory for a name
  return {};
}

}  // namespace offramp
