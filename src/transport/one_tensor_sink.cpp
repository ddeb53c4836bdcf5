// SPDX-License-Identifier: Apache-2.0
#include "transport/one_tensor_sink.hpp"

#include "transport/tensor_checks.hpp"

#include <utility>

namespace offramp {

OneTensorSink::OneTensorSink(std::string path, OutputFile::Existing existing, FrontOf front_of)
    : path_(std::move(path)), existing_(existing), front_of_(front_of) {}

void OneTensorSink::begin(std::span<const TensorInfo> tensors, const Metadata& metadata) {
  expect_one_tensor(tensors, path_);
  check_tensors(tensors, metadata, path_);
  const std::string front = front_of_(tensors.front().desc, path_);
  ledger_.begin(tensors);
  data_ = front.size();
  file_.emplace(path_, existing_);
  file_->append(std::as_bytes(std::span(front)));
}

void OneTensorSink::write(std::size_t tensor, std::uint64_t first_elem,
                          std::span<const std::byte> bytes) {
  const std::uint64_t offset = ledger_.check(tensor, first_elem, bytes.size());
  file_->write_at(data_ + offset, bytes);
  ledger_.record(tensor, bytes.size());
}

void OneTensorSink::finish() {
  ledger_.expect_complete(path_);
  file_->commit();
  ledger_.finish();
}

}  // namespace offramp
