// SPDX-License-Identifier: Apache-2.0
#include "transport/folder/folder_sink.hpp"

#include "transport/folder/file_names.hpp"
#include "transport/folder/read_manifest.hpp"
#include "transport/npy/npy_header.hpp"
#include "transport/safetensors/safetensors_sink.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace offramp {
namespace {

namespace fs = std::filesystem;

// The files of the folder at `path` if there is one that may be replaced, or nothing if nothing
// stands there. A person's own files are never removed.
std::optional<std::vector<std::string>> replaceable_files(const std::string& path, bool overwrite) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw IoError("write", path, errno);
  }
  if (!overwrite) {
    throw IoError("write", path, EEXIST, "name another folder, or give --overwrite to replace it");
  }
  std::error_code failed;
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    files.push_back(at->path().filename().string());
  }
  if (failed) throw IoError("write", path, failed.value());
  if (files.empty()) return files;

  std::unordered_set<std::string> ours;
  if (const auto manifest = read_manifest(path); manifest && *manifest) {
    ours.emplace(manifest_file);
    for (const ManifestEntry& entry : (**manifest).entries) ours.insert(entry.file);
  }
  for (const std::string& file : files) {
    if (ours.contains(file)) continue;
    throw IoError("overwrite", path, ENOTEMPTY,
                  fmt::format("{} in it was not written by offramp: remove the folder yourself, or "
                              "name another",
                              shown_name(file)));
  }
  return files;
}

}  // namespace

FolderSink::FolderSink(std::string path, bool overwrite)
    : path_(without_slash(std::move(path))), overwrite_(overwrite) {}

void FolderSink::begin(std::span<const TensorInfo> tensors, const Metadata& metadata) {
  check_tensors(tensors, metadata, path_);
  std::vector<std::string> files = file_names_of(tensors, path_);
  std::vector<std::string> fronts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    fronts.push_back(files[i].ends_with(".npy")
                         ? make_npy_header(tensors[i].desc)
                         : checked_safetensors_header(tensors.subspan(i, 1), {}, path_));
  }
  ledger_.begin(tensors);
  manifest_.metadata = metadata;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    offsets_.push_back(fronts[i].size());
    manifest_.entries.push_back({.tensor = tensors[i], .file = std::move(files[i])});
  }
  folder_.emplace(path_, replaceable_files(path_, overwrite_));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    folder_->create(manifest_.entries[i].file, std::as_bytes(std::span(fronts[i])));
  }
}

void FolderSink::write(std::size_t tensor, std::uint64_t first_elem,
                       std::span<const std::byte> bytes) {
  const std::uint64_t offset = ledger_.check(tensor, first_elem, bytes.size());
  folder_->write_at(manifest_.entries[tensor].file, offsets_[tensor] + offset, bytes);
  ledger_.record(tensor, bytes.size());
}

void FolderSink::finish() {
  ledger_.expect_complete(path_);
  const std::string json = make_manifest(manifest_);
  folder_->create(std::string(manifest_file), std::as_bytes(std::span(json)));
  folder_->commit();
  ledger_.finish();
}

}  // namespace offramp
