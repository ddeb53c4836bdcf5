// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/folder_source.hpp"

#include "core/checks.hpp"
#include "transport/folder/manifest.hpp"
#include "transport/folder/output_folder.hpp"
#include "transport/folder/read_manifest.hpp"
#include "transport/npy/npy_source.hpp"
#include "transport/safetensors/safetensors_source.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

namespace offramp {
namespace {

namespace fs = std::filesystem;

// A process may have 1024 files open unless told otherwise.
constexpr std::size_t most_open_files = 256;

Result<std::unique_ptr<TensorSource>> open_file(const std::string& path) {
  return path.ends_with(".npy") ? open_npy_source(path) : SafetensorsSource::open(path);
}

}  // namespace

Result<std::unique_ptr<TensorSource>> FolderSource::open(const std::string& path) {
  std::unique_ptr<FolderSource> source(new FolderSource(without_slash(path)));
  OFFRAMP_TRY(manifest, read_manifest(source->path_));
  if (manifest) {
    OFFRAMP_TRY_VOID(source->open_listed(*manifest));
  } else {
    OFFRAMP_TRY_VOID(source->open_all());
  }
  source->metadata_ = source->merged_metadata();
  check_tensors(source->tensors_, source->metadata_, source->path_);
  return std::unique_ptr<TensorSource>(std::move(source));
}

Result<void> FolderSource::open_listed(const Manifest& manifest) {
  notes_.push_back({.file = std::string(manifest_file), .metadata = manifest.metadata});
  for (const auto& [tensor, file] : manifest.entries) {
    OFFRAMP_TRY_VOID(add_file(file));
    const bool named = file.ends_with(".safetensors");  // .npy files hold no name
    if (files_.size() != places_.size() || places_.back().info.desc != tensor.desc ||
        (named && places_.back().info.name != tensor.name)) {
      return Error{.code = ErrorCode::mismatch,
                   .what = fmt::format("it is not the tensor {} of dtype {} and shape {} that {} "
                                       "lists",
                                       shown_name(tensor.name), name_of(tensor.desc.dtype),
                                       tensor.desc.shape.to_string(), manifest_file),
                   .path = files_.back().path,
                   .remedy = "restore the file, or remove the list to take the files as they are"};
    }
    tensors_.push_back(tensor);
  }
  return {};
}

Result<void> FolderSource::open_all() {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(path_, failed), end; !failed && at != end; at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(".npy") || name.ends_with(".safetensors")) names.push_back(std::move(name));
  }
  if (failed) throw IoError("read", path_, failed.value());
  if (names.empty()) {
    return Error{.code = ErrorCode::not_found,
                 .what = "the folder holds no .npy or .safetensors file",
                 .path = path_,
                 .remedy = {}};
  }
  std::ranges::sort(names);
  for (const std::string& name : names) OFFRAMP_TRY_VOID(add_file(name));
  for (const Place& place : places_) tensors_.push_back(place.info);
  return {};
}

Result<void> FolderSource::add_file(const std::string& file) {
  const std::string path = fmt::format("{}/{}", path_, file);
  OFFRAMP_TRY(source, open_file(path));
  for (std::size_t i = 0; i < source->tensors().size(); ++i) {
    places_.push_back({.file = files_.size(), .tensor = i, .info = source->tensors()[i]});
  }
  const bool keep = files_.size() < most_open_files;
  std::error_code failed;
  const auto changed = fs::last_write_time(path, failed);
  if (failed) throw IoError("read", path, failed.value());
  if (!source->metadata().empty()) {
    notes_.push_back({.file = file, .metadata = source->metadata()});
  }
  files_.push_back(
      {.path = path, .changed = changed, .source = keep ? std::move(source) : nullptr});
  return {};
}

// A key that files disagree about is kept once for each, as FILE:KEY; the others once.
Metadata FolderSource::merged_metadata() const {
  std::map<std::string_view, std::set<std::string_view>> values;
  for (const Notes& notes : notes_) {
    for (const auto& [key, value] : notes.metadata) values[key].insert(value);
  }
  Metadata merged;
  std::set<std::string_view> done;
  for (const Notes& notes : notes_) {
    for (const auto& [key, value] : notes.metadata) {
      if (values[key].size() > 1) {
        merged.emplace_back(fmt::format("{}:{}", notes.file, key), value);
      } else if (done.insert(key).second) {
        merged.emplace_back(key, value);
      }
    }
  }
  return merged;
}

void FolderSource::read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) {
  static_cast<void>(byte_offset_in(tensor_at(tensors_, tensor), first_elem, out.size()));
  const Place& place = places_[tensor];
  const File& file = files_[place.file];
  if (file.source) {
    file.source->read(place.tensor, first_elem, out);
    return;
  }
  const auto source = open_file(file.path).value();
  std::error_code failed;
  if (source->tensors().size() <= place.tensor || source->tensors()[place.tensor] != place.info ||
      fs::last_write_time(file.path, failed) != file.changed) {
    throw MachineError({.code = ErrorCode::io,
                        .what = "the file was written to while the folder was read",
                        .path = file.path,
                        .remedy = "start again, and leave the folder alone meanwhile"});
  }
  source->read(place.tensor, first_elem, out);
}

}  // namespace offramp
