// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors to write and read back, and a folder of their own for the files.

#include <offramp/core/error.hpp>
#include <offramp/transport/memory_source.hpp>
#include <offramp/transport/tensor_sink.hpp>
#include <offramp/transport/tensor_source.hpp>

#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace offramp {

/// A new folder, removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "offramp-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

/// Tensors with their bytes.
struct TensorSet {
  std::vector<TensorInfo> infos{};
  std::vector<std::vector<std::byte>> bytes{};
  Metadata metadata{};

  void add(std::string name, DType dtype, Shape shape) {
    std::mt19937 random(static_cast<unsigned>(infos.size() + 1));
    const TensorDesc desc{.dtype = dtype, .shape = shape};
    infos.push_back({.name = std::move(name), .desc = desc});
    bytes.emplace_back(desc.size());
    for (std::byte& byte : bytes.back()) byte = static_cast<std::byte>(random());
  }

  void write_to(TensorSink& sink) const {
    sink.begin(infos, metadata);
    for (std::size_t i = 0; i < infos.size(); ++i) sink.write(i, 0, bytes[i]);
    sink.finish();
  }

  [[nodiscard]] std::vector<NamedTensor> named() const {
    std::vector<NamedTensor> tensors;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      tensors.push_back({infos[i].name, {infos[i].desc, bytes[i]}});
    }
    return tensors;
  }
};

/// Several tensors of all dtypes and kinds of shape, with metadata; or one, called "one".
inline TensorSet sample_tensors(bool many, DType dtype = DType::fp32) {
  TensorSet set;
  if (!many) {
    set.add("one", dtype, {5, 7, 3});
    return set;
  }
  set.metadata = {{"z", "last letter first"}, {"a", "\"quoted\", \\ and \n"}, {"\u00e9", ""}};
  for (std::uint8_t id = min_dtype; id <= max_dtype; ++id) {
    const DType each = *dtype_from_id(id);
    set.add("layers." + std::string(name_of(each)), each, {2, 3, std::uint64_t{1} + id});
  }
  set.add("scalar", DType::fp64, {});
  set.add("empty", DType::bf16, {4, 0, 3});
  set.add("row", DType::u8, {1001});
  set.add("case", DType::i8, {3});
  set.add("CASE", DType::i8, {3});
  set.add("../../up/and\naway", DType::i16, {3});
  set.add("deep", DType::u16, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  return set;
}

inline std::vector<std::byte> read_whole(TensorSource& source, std::size_t tensor) {
  std::vector<std::byte> bytes(source.tensors()[tensor].desc.size());
  source.read(tensor, 0, bytes);
  return bytes;
}

/// The error that `action` throws as a DataError; code 0 where it throws none.
template <class Action>
Error data_error_of(Action action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.error();
  }
  return {};
}

}  // namespace offramp
