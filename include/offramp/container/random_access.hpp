// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace offramp {

/// Bytes of a known size that can be read at any place. `read` is thread-safe.
class RandomAccess {
 public:
  virtual ~RandomAccess() = default;

  /// What to call it in messages: a path, or such as "memory".
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  /// Fills `out` from `offset`. @throws IoError; DataError (truncated) where the bytes end before.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

/// A file behind RandomAccess.
class FileAccess final : public RandomAccess {
 public:
  explicit FileAccess(InputFile file) noexcept : file_(std::move(file)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return file_.path(); }
  [[nodiscard]] std::uint64_t size() const noexcept override { return file_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    file_.read(offset, out);
  }

 private:
  InputFile file_;
};

/// Memory behind RandomAccess. Does not own the bytes; they must outlive it.
class MemoryAccess final : public RandomAccess {
 public:
  explicit MemoryAccess(std::span<const std::byte> bytes, std::string name = "memory") noexcept
      : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

}  // namespace offramp
