// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "transport/tensor_checks.hpp"
#include "transport/write_ledger.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/memory_sink.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace offramp {

class MemorySink::Impl {
 public:
  explicit Impl(std::uint64_t limit) : limit_(limit) {}
  explicit Impl(std::vector<std::span<std::byte>> buffers)
      : buffers_(std::move(buffers)), callers_(true) {}

  void begin(std::span<const TensorInfo> tensors, const Metadata& metadata,
             const std::string& name) {
    const std::uint64_t total = check_tensors(tensors, metadata, name);
    if (callers_) expect_fit(tensors, name);
    ledger_.begin(tensors);
    metadata_ = metadata;
    if (!callers_) allocate(total, name);
  }

  void write(std::size_t tensor, std::uint64_t first_elem, std::span<const std::byte> bytes) {
    const std::uint64_t offset = ledger_.check(tensor, first_elem, bytes.size());
    std::ranges::copy(bytes, buffers_[tensor].subspan(offset).begin());
    ledger_.record(tensor, bytes.size());
  }

  void finish(const std::string& name) {
    ledger_.expect_complete(name);
    ledger_.finish();
  }

  const WriteLedger& finished() const {
    OFFRAMP_EXPECTS(ledger_.state() == WriteLedger::State::finished,
                    "a memory sink is read after finish");
    return ledger_;
  }
  const Metadata& metadata() const { return metadata_; }
  std::span<const std::byte> bytes(std::size_t tensor) const { return buffers_[tensor]; }

 private:
  void expect_fit(std::span<const TensorInfo> tensors, const std::string& name) const {
    if (tensors.size() != buffers_.size()) {
      throw DataError({.code = ErrorCode::mismatch,
                       .what = fmt::format("{} tensors come, {} buffers were given", tensors.size(),
                                           buffers_.size()),
                       .path = name,
                       .remedy = "give one buffer a tensor"});
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].desc.size() == buffers_[i].size()) continue;
      throw DataError(
          {.code = ErrorCode::mismatch,
           .what = fmt::format("tensor {} has {} bytes, its buffer {}", shown_name(tensors[i].name),
                               tensors[i].desc.size(), buffers_[i].size()),
           .path = name,
           .remedy = "give a buffer of the tensor's size"});
    }
  }

  void allocate(std::uint64_t total, const std::string& name) {
    if (total > limit_) {
      throw DataError({.code = ErrorCode::limit_exceeded,
                       .what = fmt::format("the tensors have {} bytes, more than the limit of {}",
                                           total, limit_),
                       .path = name,
                       .remedy = "raise the limit, or restore tensors one at a time"});
    }
    for (const TensorInfo& tensor : ledger_.tensors()) {
      const std::size_t size = tensor.desc.size();
      try {
        owned_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
        buffers_.emplace_back(owned_.back().get(), size);
      } catch (const std::bad_alloc&) {
        throw OutOfMemory(size, tensor.name);
      }
    }
  }

  std::uint64_t limit_{};
  std::vector<std::span<std::byte>> buffers_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
  bool callers_{false};
  Metadata metadata_;
  WriteLedger ledger_;
};

MemorySink::MemorySink(std::uint64_t limit, std::string name)
    : impl_(std::make_unique<Impl>(limit)), name_(std::move(name)) {}

MemorySink::MemorySink(std::vector<std::span<std::byte>> buffers, std::string name)
    : impl_(std::make_unique<Impl>(std::move(buffers))), name_(std::move(name)) {}

MemorySink::~MemorySink() = default;

void MemorySink::begin(std::span<const TensorInfo> tensors, const Metadata& metadata) {
  impl_->begin(tensors, metadata, name_);
}

void MemorySink::write(std::size_t tensor, std::uint64_t first_elem,
                       std::span<const std::byte> bytes) {
  impl_->write(tensor, first_elem, bytes);
}

void MemorySink::finish() { impl_->finish(name_); }

std::span<const TensorInfo> MemorySink::tensors() const { return impl_->finished().tensors(); }

const Metadata& MemorySink::metadata() const {
  static_cast<void>(impl_->finished());
  return impl_->metadata();
}

std::span<const std::byte> MemorySink::bytes(std::size_t tensor) const {
  static_cast<void>(tensor_at(impl_->finished().tensors(), tensor));
  return impl_->bytes(tensor);
}

}  // namespace offramp
