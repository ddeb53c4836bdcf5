// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/file.hpp>
#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace offramp {

/// A file that holds one tensor from some offset on; the tensor is named after the file, as
/// `unescape_name` has it where the folder sink could have named the file so.
class OneTensorSource final : public TensorSource {
 public:
  /// Refuses a file name that is not UTF-8. `desc` lies whole in the file.
  static Result<std::unique_ptr<TensorSource>> make(InputFile file, TensorDesc desc,
                                                    std::uint64_t data);

  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept override {
    return {&tensor_, 1};
  }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return metadata_; }
  [[nodiscard]] const std::string& name() const noexcept override { return file_.path(); }
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override;

 private:
  OneTensorSource(InputFile file, TensorInfo tensor, std::uint64_t data);

  InputFile file_;
  TensorInfo tensor_;
  std::uint64_t data_;
  Metadata metadata_;
};

}  // namespace offramp
