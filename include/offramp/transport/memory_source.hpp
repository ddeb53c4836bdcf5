// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/tensor_view.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <string>
#include <vector>

namespace offramp {

/// A tensor in memory that somebody else owns, and its name.
struct NamedTensor {
  std::string name{};
  TensorView view{};
};

/// Tensors in memory that the caller owns and keeps alive and unchanged while the source is used.
class MemorySource final : public TensorSource {
 public:
  /// @throws LogicError where a view's bytes do not fit its shape or two names are the same.
  explicit MemorySource(std::vector<NamedTensor> tensors, Metadata metadata = {},
                        std::string name = "memory");

  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept override { return infos_; }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return metadata_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override;

 private:
  std::vector<TensorInfo> infos_;
  std::vector<std::span<const std::byte>> bytes_;
  Metadata metadata_;
  std::string name_;
};

}  // namespace offramp
