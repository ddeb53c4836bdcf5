// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/write_ledger.hpp"

#include <offramp/core/file.hpp>
#include <offramp/transport/tensor_sink.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace offramp {

/// A file of some header and the bytes of one tensor.
class OneTensorSink final : public TensorSink {
 public:
  /// Makes the header of a file at `path`. @throws DataError where the format lacks the dtype.
  using FrontOf = std::string (*)(const TensorDesc& desc, const std::string& path);

  OneTensorSink(std::string path, OutputFile::Existing existing, FrontOf front_of);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  void begin(std::span<const TensorInfo> tensors, const Metadata& metadata) override;
  void write(std::size_t tensor, std::uint64_t first_elem,
             std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  std::string path_;
  OutputFile::Existing existing_;
  FrontOf front_of_;
  WriteLedger ledger_;
  std::uint64_t data_{};
  std::optional<OutputFile> file_;
};

}  // namespace offramp
