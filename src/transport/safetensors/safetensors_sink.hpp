// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/write_ledger.hpp"

#include <offramp/core/file.hpp>
#include <offramp/transport/tensor_sink.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// Tensors into one safetensors file, in the order announced.
class SafetensorsSink final : public TensorSink {
 public:
  SafetensorsSink(std::string path, OutputFile::Existing existing);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  void begin(std::span<const TensorInfo> tensors, const Metadata& metadata) override;
  void write(std::size_t tensor, std::uint64_t first_elem,
             std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  std::string path_;
  OutputFile::Existing existing_;
  WriteLedger ledger_;
  std::vector<std::uint64_t> offsets_;  // of each tensor, from the front of the file
  std::optional<OutputFile> file_;
};

/// The header for these tensors. @throws DataError, which names `path`, where the format cannot
/// hold them.
[[nodiscard]] std::string checked_safetensors_header(std::span<const TensorInfo> tensors,
                                                     const Metadata& metadata,
                                                     const std::string& path);

}  // namespace offramp
