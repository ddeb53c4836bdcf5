// SPDX-License-Identifier: Apache-2.0
#include "transport/write_ledger.hpp"

#include "core/checks.hpp"
#include "transport/tensor_checks.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>

namespace offramp {

void WriteLedger::begin(std::span<const TensorInfo> tensors) {
  OFFRAMP_EXPECTS(state_ == State::idle, "a sink is begun once");
  tensors_.assign(tensors.begin(), tensors.end());
  written_ = std::vector<std::atomic<std::uint64_t>>(tensors.size());
  state_ = State::begun;
}

std::uint64_t WriteLedger::check(std::size_t tensor, std::uint64_t first_elem,
                                 std::size_t size) const {
  OFFRAMP_EXPECTS(state_ == State::begun, "a sink is written to between begin and finish");
  return byte_offset_in(tensor_at(tensors_, tensor), first_elem, size);
}

void WriteLedger::record(std::size_t tensor, std::size_t size) noexcept {
  written_[tensor].fetch_add(size, std::memory_order_relaxed);
}

void WriteLedger::expect_complete(const std::string& path) const {
  OFFRAMP_EXPECTS(state_ == State::begun, "a sink is finished once, after begin");
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::uint64_t written = written_[i].load(std::memory_order_relaxed);
    const std::uint64_t size = tensors_[i].desc.size();
    if (written == size) continue;
    throw DataError({.code = ErrorCode::truncated,
                     .what = fmt::format("{} of {} bytes of tensor {} were written", written, size,
                                         shown_name(tensors_[i].name)),
                     .path = path,
                     .remedy = {}});
  }
}

}  // namespace offramp
