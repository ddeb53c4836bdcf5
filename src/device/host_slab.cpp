// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"
#include "core/checks.hpp"

#include <offramp/core/error.hpp>
#include <offramp/device/host_slab.hpp>

#include <algorithm>
#include <utility>

namespace offramp {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

HostSlab::HostSlab(Device& device, Layout layout) : device_(&device), layout_(layout) {
  OFFRAMP_EXPECTS(layout.slot_size <= SIZE_MAX - page, "a host slot of that size cannot be");
  // At least a page, so that every slot has an address of its own.
  stride_ = round_up(layout.slot_size + (layout.slot_size == 0), page);
  std::size_t size = 0;
  OFFRAMP_EXPECTS(!__builtin_mul_overflow(stride_, layout.slots, &size),
                  "the host slots together exceed the address space");
  OFFRAMP_EXPECTS(layout.min_slots <= layout.slots, "more host slots needed than asked for");
  const std::size_t least = layout.min_slots == 0 ? layout.slots : layout.min_slots;
  while (layout_.slots > 0 && !data_) {
    try {
      data_ = device.allocate_host(stride_ * layout_.slots);
    } catch (const OutOfMemory& error) {
      if (layout_.slots == least) throw;
      if (shortfall_.empty()) shortfall_ = error.what();
      layout_.slots = std::max(least, layout_.slots - std::max<std::size_t>(1, layout_.slots / 4));
    }
  }
}

HostSlab::HostSlab(HostSlab&& other) noexcept
    : device_(other.device_),
      layout_(std::exchange(other.layout_, {})),
      stride_(other.stride_),
      data_(std::exchange(other.data_, nullptr)),
      shortfall_(std::move(other.shortfall_)) {}

HostSlab& HostSlab::operator=(HostSlab&& other) noexcept {
  if (this != &other) {
    HostSlab moved(std::move(other));
    std::swap(device_, moved.device_);
    std::swap(layout_, moved.layout_);
    std::swap(stride_, moved.stride_);
    std::swap(data_, moved.data_);
    shortfall_.swap(moved.shortfall_);
  }
  return *this;
}

HostSlab::~HostSlab() {
  if (data_) device_->free_host(data_, stride_ * layout_.slots);
}

}  // namespace offramp
