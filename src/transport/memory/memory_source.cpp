// SPDX-License-Identifier: Apache-2.0
#include "core/checks.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/transport/memory_source.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp {

MemorySource::MemorySource(std::vector<NamedTensor> tensors, Metadata metadata, std::string name)
    : metadata_(std::move(metadata)), name_(std::move(name)) {
  infos_.reserve(tensors.size());
  bytes_.reserve(tensors.size());
  for (NamedTensor& tensor : tensors) {
    OFFRAMP_EXPECTS(
        tensor.view.desc.checked_size() == tensor.view.bytes.size(),
        fmt::format("tensor {} of shape {} does not have {} bytes", shown_name(tensor.name),
                    tensor.view.desc.shape.to_string(), tensor.view.bytes.size()));
    infos_.push_back({.name = std::move(tensor.name), .desc = tensor.view.desc});
    bytes_.push_back(tensor.view.bytes);
  }
  try {
    check_tensors(infos_, metadata_, name_);
  } catch (const DataError& error) {
    throw LogicError(error.what());
  }
}

void MemorySource::read(std::size_t tensor, std::uint64_t first_elem, std::span<std::byte> out) {
  const std::uint64_t offset = byte_offset_in(tensor_at(infos_, tensor), first_elem, out.size());
  std::ranges::copy(bytes_[tensor].subspan(offset, out.size()), out.begin());
}

}  // namespace offramp
