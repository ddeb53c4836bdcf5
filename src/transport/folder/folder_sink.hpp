// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/folder/manifest.hpp"
#include "transport/folder/output_folder.hpp"
#include "transport/write_ledger.hpp"

#include <offramp/transport/tensor_sink.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// Tensors into a folder of one file each, and a manifest that lists them.
class FolderSink final : public TensorSink {
 public:
  /// `overwrite` replaces a folder that is empty or holds nothing but what a FolderSink wrote.
  FolderSink(std::string path, bool overwrite);

  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  void begin(std::span<const TensorInfo> tensors, const Metadata& metadata) override;
  void write(std::size_t tensor, std::uint64_t first_elem,
             std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  std::string path_;
  bool overwrite_;
  WriteLedger ledger_;
  Manifest manifest_;
  std::vector<std::uint64_t> offsets_;  // of each tensor in its file
  std::optional<OutputFolder> folder_;
};

}  // namespace offramp
