// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/metadata.hpp>
#include <offramp/core/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace offramp {

/// A tensor's name and what it is.
struct TensorInfo {
  std::string name{};
  TensorDesc desc{};
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

/// Where tensors come from: a file or memory, already checked as a whole when it was opened.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  /// All tensors, in the order in which they are best read. Fixed for the source's life.
  [[nodiscard]] virtual std::span<const TensorInfo> tensors() const noexcept = 0;
  [[nodiscard]] virtual const Metadata& metadata() const noexcept = 0;

  /// What to call the source in messages: a path, or such as "memory".
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  /// Reads elements `first_elem` and on of tensor number `tensor`, as many as `out` holds,
  /// row-major and little-endian. Thread-safe. Blocks.
  /// @throws IoError where the system fails, MachineError where the file was written to meanwhile,
  ///         DataError where it ends early, LogicError where the range is not inside the tensor.
  virtual void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) = 0;
};

}  // namespace offramp
