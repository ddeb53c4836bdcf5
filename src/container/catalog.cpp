// SPDX-License-Identifier: Apache-2.0
#include "container/catalog.hpp"

#include "container/part_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace offramp {
namespace {

Error duplicate(std::string_view name, std::uint64_t elem) {
  return Error{.code = ErrorCode::duplicate,
               .what = fmt::format("tensor {} has element {} twice", printable(name), elem),
               .path = {},
               .remedy = "give each tensor one name"};
}

// What a part costs in a tree of ends, with its node.
constexpr std::uint64_t end_memory = 64;

std::uint64_t end_of(const ArchivePart& part) noexcept { return part.first_elem + part.elems(); }

}  // namespace

Result<void> Catalog::count(std::uint64_t memory) {
  if (records_ >= limits_.max_records) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("more than {} records", limits_.max_records),
                 .path = {},
                 .remedy = "raise the limit if you trust the file"};
  }
  if (memory > limits_.max_memory || memory_ > limits_.max_memory - memory) {
    return Error{.code = ErrorCode::limit_exceeded,
                 .what = fmt::format("names and parts take more than {} bytes of memory",
                                     limits_.max_memory),
                 .path = {},
                 .remedy = "raise the limit if you trust the file"};
  }
  memory_ += memory;
  ++records_;
  return {};
}

Result<void> Catalog::add_other() { return count(64); }

const ArchiveTensor* Catalog::find(std::string_view name) const noexcept {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? nullptr : &tensors_[at->second];
}

// Parts that come in order need no tree; the first that does not makes it, and `add` keeps it.
Catalog::Ends& Catalog::ends_of(std::size_t tensor) {
  if (const auto known = ends_.find(tensor); known != ends_.end()) return known->second;
  Ends ends;
  for (const ArchivePart& part : tensors_[tensor].parts)
    ends.emplace(part.first_elem, end_of(part));
  memory_ += end_memory * ends.size();
  return ends_.emplace(tensor, std::move(ends)).first->second;
}

Result<void> Catalog::check(const PartRecord& part) {
  const ArchiveTensor* tensor = find(part.name);
  if (!tensor) return {};
  if (tensor->desc != part.tensor) {
    return Error{.code = ErrorCode::mismatch,
                 .what = fmt::format("tensor {} is {} {} in one record, {} {} in another",
                                     printable(part.name), name_of(tensor->desc.dtype),
                                     tensor->desc.shape.to_string(), name_of(part.tensor.dtype),
                                     part.tensor.shape.to_string()),
                 .path = {},
                 .remedy = "give each tensor a name of its own"};
  }
  if (part.part.elems() == 0) return duplicate(part.name, 0);
  const auto index = static_cast<std::size_t>(tensor - tensors_.data());
  if (!unsorted_[index] && end_of(tensor->parts.back()) <= part.first_elem) return {};
  const Ends& ends = ends_of(index);
  const auto next = ends.lower_bound(part.first_elem);
  if (next != ends.begin() && std::prev(next)->second > part.first_elem) {
    return duplicate(part.name, part.first_elem);
  }
  if (next != ends.end() && next->first - part.first_elem < part.part.elems()) {
    return duplicate(part.name, next->first);
  }
  return {};
}

Result<void> Catalog::add(const PartRecord& part, std::uint64_t raw_size,
                          const RecordPlace& place) {
  const auto known = numbers_.find(part.name);
  const bool is_new = known == numbers_.end();
  // Twice the part, as vectors grow by doubling; names are held twice; nodes cost a little more.
  std::uint64_t memory = 2 * sizeof(ArchivePart);
  if (is_new) memory += 2 * (sizeof(ArchiveTensor) + part.name.size()) + 128;

  auto number = chain_numbers_.find(part.chain);
  const bool is_new_chain = number == chain_numbers_.end();
  if (is_new_chain) memory += part.chain.size() + 128;
  OFFRAMP_TRY_VOID(count(memory));
  if (is_new_chain) {
    std::vector<std::byte> chain(part.chain.begin(), part.chain.end());
    number =
        chain_numbers_.emplace(std::move(chain), static_cast<std::uint32_t>(chains_.size())).first;
    chains_.push_back(&number->first);
  }

  std::size_t index = tensors_.size();
  if (is_new) {
    tensors_.push_back({std::string(part.name), part.tensor, {}});
    unsorted_.push_back(false);
    numbers_.emplace(std::string(part.name), index);
  } else {
    index = known->second;
  }
  ArchiveTensor& tensor = tensors_[index];
  const auto ends = ends_.empty() ? ends_.end() : ends_.find(index);
  if (!is_new) {
    if (tensor.desc != part.tensor) return check(part);  // says how they differ
    if (part.part.elems() == 0) return duplicate(part.name, 0);
    if (part.first_elem < end_of(tensor.parts.back())) unsorted_[index] = true;
  }
  tensor.parts.push_back({.first_elem = part.first_elem,
                          .shape = part.part,
                          .raw_size = raw_size,
                          .payload_size = place.payload_size,
                          .record_offset = place.offset,
                          .header_size = place.header_size,
                          .chain = number->second});
  if (ends != ends_.end()) {
    memory_ += end_memory;
    ends->second.emplace(part.first_elem, end_of(tensor.parts.back()));
  }
  return {};
}

Result<void> Catalog::seal() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!unsorted_[i]) continue;
    auto& parts = tensors_[i].parts;
    std::ranges::sort(parts, {}, &ArchivePart::first_elem);
    for (std::size_t at = 1; at < parts.size(); ++at) {
      if (parts[at].first_elem < end_of(parts[at - 1])) {
        return duplicate(tensors_[i].name, parts[at].first_elem);
      }
    }
    unsorted_[i] = false;
  }
  return {};
}

}  // namespace offramp
