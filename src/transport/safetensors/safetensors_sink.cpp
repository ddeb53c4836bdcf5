// SPDX-License-Identifier: Apache-2.0
#include "transport/safetensors/safetensors_sink.hpp"

#include "transport/safetensors/safetensors_header.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace offramp {

std::string checked_safetensors_header(std::span<const TensorInfo> tensors,
                                       const Metadata& metadata, const std::string& path) {
  check_tensors(tensors, metadata, path);
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name != "__metadata__") continue;
    throw DataError({.code = ErrorCode::bad_name,
                     .what = "safetensors cannot hold a tensor named '__metadata__'",
                     .path = path,
                     .remedy = "rename the tensor"});
  }
  std::string header = make_safetensors_header(tensors, metadata);
  if (header.size() - safetensors_prefix_size > max_safetensors_header_size) {
    throw DataError({.code = ErrorCode::limit_exceeded,
                     .what = fmt::format("the header would have {} bytes; safetensors allows {}",
                                         header.size(), max_safetensors_header_size),
                     .path = path,
                     .remedy = "write the tensors to several files"});
  }
  return header;
}

SafetensorsSink::SafetensorsSink(std::string path, OutputFile::Existing existing)
    : path_(std::move(path)), existing_(existing) {}

void SafetensorsSink::begin(std::span<const TensorInfo> tensors, const Metadata& metadata) {
  const std::string header = checked_safetensors_header(tensors, metadata, path_);
  ledger_.begin(tensors);
  std::uint64_t at = header.size();
  for (const TensorInfo& tensor : tensors) {
    offsets_.push_back(at);
    at += tensor.desc.size();
  }
  file_.emplace(path_, existing_);
  file_->append(std::as_bytes(std::span(header)));
}

void SafetensorsSink::write(std::size_t tensor, std::uint64_t first_elem,
                            std::span<const std::byte> bytes) {
  const std::uint64_t offset = ledger_.check(tensor, first_elem, bytes.size());
  file_->write_at(offsets_[tensor] + offset, bytes);
  ledger_.record(tensor, bytes.size());
}

void SafetensorsSink::finish() {
  ledger_.expect_complete(path_);
  file_->commit();
  ledger_.finish();
}

}  // namespace offramp
