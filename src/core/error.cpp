// SPDX-License-Identifier: Apache-2.0
#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace offramp {
namespace {

std::string_view usual_remedy(std::string_view action, int errno_value) noexcept {
  switch (errno_value) {
    case ENOSPC:
      return "free space or choose another folder";
    case EDQUOT:
      return "your quota is used up: free space or choose another folder";
    case EFBIG:
      return "raise the file size limit (ulimit -f) or choose another file system";
    case EROFS:
      return "choose a folder that can be written";
    case EACCES:
    case EPERM:
      return "check the permissions of the file and of the folders above it";
    case ENOENT:
    case ENOTDIR:
      return action.starts_with("write") || action.starts_with("make")
                 ? "check the path; the folder must exist"
                 : "check the path";
    case EEXIST:
      return "pass --overwrite to replace it";
    case EISDIR:
      return "name a file, not a folder";
    case ELOOP:
      return "check the symbolic links";
    case ENAMETOOLONG:
      return "choose a shorter name";
    case EMFILE:
    case ENFILE:
      return "close files or raise the limit (ulimit -n)";
    case EIO:
      return "check the disk and the system log";
    case EPIPE:
      return "the reader has gone: start it again";
  }
  return {};
}

}  // namespace

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::bad_magic:
      return "bad_magic";
    case ErrorCode::bad_version:
      return "bad_version";
    case ErrorCode::bad_checksum:
      return "bad_checksum";
    case ErrorCode::bad_header:
      return "bad_header";
    case ErrorCode::limit_exceeded:
      return "limit_exceeded";
    case ErrorCode::unknown_stage:
      return "unknown_stage";
    case ErrorCode::unknown_dtype:
      return "unknown_dtype";
    case ErrorCode::corrupt_payload:
      return "corrupt_payload";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::bad_name:
      return "bad_name";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::duplicate:
      return "duplicate";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::io:
      return "io";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::logic:
      return "logic";
    case ErrorCode::device:
      return "device";
  }
  return "unknown";
}

std::string Error::message() const {
  std::string text = path.empty() ? what : fmt::format("{}: {}", path, what);
  if (!remedy.empty()) text += fmt::format("; {}", remedy);
  return text;
}

MachineError::MachineError(Error error)
    : std::runtime_error(error.message()), error_(std::move(error)) {}

IoError::IoError(std::string_view action, std::string_view path, int errno_value,
                 std::string_view remedy)
    : MachineError(Error{
          .code = ErrorCode::io,
          .what =
              fmt::format("cannot {}: {}", action, std::generic_category().message(errno_value)),
          .path = std::string(path),
          .remedy = std::string(remedy.empty() ? usual_remedy(action, errno_value) : remedy)}),
      errno_value_(errno_value) {}

OutOfMemory::OutOfMemory(std::size_t size, std::string_view purpose, std::string_view remedy)
    : MachineError(Error{
          .code = ErrorCode::out_of_memory,
          .what = purpose.empty() ? fmt::format("no memory for {} bytes", size)
                                  : fmt::format("no memory for {} bytes ({})", size, purpose),
          .path = {},
          .remedy = std::string(remedy.empty() ? "free memory, or use smaller chunks or fewer slots"
                                               : remedy)}) {}

DataError::DataError(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}

}  // namespace offramp
