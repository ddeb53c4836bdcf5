// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/safetensors/safetensors_header.hpp"

#include <offramp/core/file.hpp>
#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <memory>
#include <string>

namespace offramp {

/// The tensors of a safetensors file, in the order of its data.
class SafetensorsSource final : public TensorSource {
 public:
  /// @throws IoError.
  static Result<std::unique_ptr<TensorSource>> open(const std::string& path);

  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept override {
    return header_.tensors;
  }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return header_.metadata; }
  [[nodiscard]] const std::string& name() const noexcept override { return file_.path(); }
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override;

 private:
  SafetensorsSource(InputFile file, SafetensorsHeader header);

  InputFile file_;
  SafetensorsHeader header_;
};

}  // namespace offramp
