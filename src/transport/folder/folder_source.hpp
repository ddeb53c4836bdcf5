// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace offramp {

/// The tensors of all .npy and .safetensors files in a folder, as its manifest lists them, or by
/// file name where it has none. Does not look into folders inside. Metadata of all files is put
/// together; a key whose values differ is kept for each file, as "FILE:KEY".
class FolderSource final : public TensorSource {
 public:
  /// @throws IoError.
  static Result<std::unique_ptr<TensorSource>> open(const std::string& path);

  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept override { return tensors_; }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return metadata_; }
  [[nodiscard]] const std::string& name() const noexcept override { return path_; }
  void read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) override;

 private:
  /// A file, kept open unless there are too many.
  struct File {
    std::string path{};
    std::filesystem::file_time_type changed{};
    std::unique_ptr<TensorSource> source{};
  };
  struct Place {
    std::size_t file{};
    std::size_t tensor{};  // in that file
    TensorInfo info{};     // as that file has it
  };

  /// The metadata of one file.
  struct Notes {
    std::string file{};
    Metadata metadata{};
  };

  explicit FolderSource(std::string path) : path_(std::move(path)) {}

  Result<void> open_listed(const struct Manifest& manifest);
  Result<void> open_all();
  Result<void> add_file(const std::string& file);
  [[nodiscard]] Metadata merged_metadata() const;

  std::string path_;
  std::vector<TensorInfo> tensors_;
  std::vector<Place> places_;  // of each tensor
  std::vector<File> files_;
  std::vector<Notes> notes_;  // in the order of the files
  Metadata metadata_;
};

}  // namespace offramp
