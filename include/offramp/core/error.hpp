// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace offramp {

/// Why bytes from outside were refused, or why a request could not be met. Stable: the numbers
/// cross the C interface.
enum class ErrorCode : std::uint32_t {
  truncated = 1,        ///< the data ends before what it announces
  bad_magic = 2,        ///< not the kind of file it was taken for
  bad_version = 3,      ///< a version this build cannot read
  bad_checksum = 4,     ///< a checksum does not match
  bad_header = 5,       ///< a header or field that contradicts itself
  limit_exceeded = 6,   ///< a stated size over the reader's limit
  unknown_stage = 7,    ///< a stage or codec this build does not have
  unknown_dtype = 8,    ///< an element type offramp does not have
  corrupt_payload = 9,  ///< coded bytes that do not decode
  not_found = 10,       ///< no tensor, file or range of that name
  bad_name = 11,        ///< a tensor name that cannot be used there
  unsupported = 12,     ///< sound, but offramp does not do it
  duplicate = 13,       ///< the same name twice
  mismatch = 14,        ///< two things that should agree do not
  cancelled = 15,       ///< the caller cancelled
  io = 16,              ///< the operating system refused (exception: IoError)
  out_of_memory = 17,   ///< no memory (exception: OutOfMemory)
  logic = 18,           ///< a broken precondition (exception: LogicError)
  device = 19,          ///< a device call failed
};

/// The code's name, such as "bad_checksum".
[[nodiscard]] std::string_view name_of(ErrorCode code) noexcept;

/// What went wrong, where, in which file, and what to do about it.
struct Error {
  ErrorCode code{};
  std::string what;  ///< one sentence fragment, no full stop: "checksum of record 3 does not match"
  std::string path;  ///< the file, or empty
  std::string remedy;  ///< what the person can do, or empty

  /// "PATH: WHAT; REMEDY", leaving out what is empty.
  [[nodiscard]] std::string message() const;

  /// The same error, with the file named if it was not yet.
  [[nodiscard]] Error in(std::string_view file) && {
    if (path.empty()) path = file;
    return std::move(*this);
  }
};

/// A precondition of the library was broken by the calling program.
class LogicError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A machine failed: I/O, memory, device. The base of all such exceptions.
class MachineError : public std::runtime_error {
 public:
  explicit MachineError(Error error);
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

/// The operating system refused a file operation.
class IoError : public MachineError {
 public:
  /// `errno_value` is the errno of the failed call; it is spelled out in the message. An empty
  /// `remedy` stands for the usual one for that errno.
  IoError(std::string_view action, std::string_view path, int errno_value,
          std::string_view remedy = {});
  [[nodiscard]] int errno_value() const noexcept { return errno_value_; }

 private:
  int errno_value_;
};

/// No memory for `size` bytes.
class OutOfMemory : public MachineError {
 public:
  /// An empty `remedy` stands for the usual one.
  explicit OutOfMemory(std::size_t size, std::string_view purpose = {},
                       std::string_view remedy = {});
};

/// Bytes from outside were refused where the interface has no Result to carry it. Holds the Error.
class DataError : public std::runtime_error {
 public:
  explicit DataError(Error error);
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

}  // namespace offramp
