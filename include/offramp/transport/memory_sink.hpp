// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/transport/tensor_sink.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// Tensors into memory: the sink's own, or buffers that the caller keeps alive until `finish`.
class MemorySink final : public TensorSink {
 public:
  /// Allocates a buffer for each tensor at `begin`, `limit` bytes at most in all: announced sizes
  /// may come from an untrusted file.
  explicit MemorySink(std::uint64_t limit = UINT64_MAX, std::string name = "memory");

  /// Writes tensor number i into `buffers[i]`, which must have exactly its size.
  explicit MemorySink(std::vector<std::span<std::byte>> buffers, std::string name = "memory");

  MemorySink(const MemorySink&) = delete;
  MemorySink& operator=(const MemorySink&) = delete;
  ~MemorySink() override;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

  /// @throws DataError where the caller's buffers do not fit or the limit is passed, OutOfMemory.
  void begin(std::span<const TensorInfo> tensors, const Metadata& metadata) override;
  void write(std::size_t tensor, std::uint64_t first_elem,
             std::span<const std::byte> bytes) override;
  void finish() override;

  /// What was announced, and the bytes. @throws LogicError before `finish` returned.
  [[nodiscard]] std::span<const TensorInfo> tensors() const;
  [[nodiscard]] const Metadata& metadata() const;
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t tensor) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::string name_;
};

}  // namespace offramp
