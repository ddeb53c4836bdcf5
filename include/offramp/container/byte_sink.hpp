// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// Where an archive's bytes go, in order. One thread at a time.
///
/// Destroyed before `commit` returned, a sink leaves nothing behind.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  /// What to call it in messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  /// Appends the pieces as one run of bytes, in one system call where the system allows.
  /// @throws IoError.
  virtual void append(std::span<const std::span<const std::byte>> pieces) = 0;

  /// Makes everything durable under its final name. @throws IoError.
  virtual void commit() = 0;
};

/// A file behind ByteSink.
class FileSink final : public ByteSink {
 public:
  explicit FileSink(OutputFile file) noexcept : file_(std::move(file)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return file_.path(); }
  void append(std::span<const std::span<const std::byte>> pieces) override { file_.append(pieces); }
  void commit() override { file_.commit(); }

 private:
  OutputFile file_;
};

/// A vector behind ByteSink. The vector is the caller's and must outlive it; `commit` does nothing.
class MemoryByteSink final : public ByteSink {
 public:
  explicit MemoryByteSink(std::vector<std::byte>& bytes) : bytes_(&bytes) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  void append(std::span<const std::span<const std::byte>> pieces) override;
  void commit() override {}

 private:
  std::vector<std::byte>* bytes_;
  std::string name_{"memory"};
};

}  // namespace offramp
