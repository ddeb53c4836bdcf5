// SPDX-License-Identifier: Apache-2.0
#include "engine/upload_slots.hpp"

#include "core/bytes.hpp"

#include <exception>

namespace offramp {

UploadSlots::UploadSlots(Device& device, Offloader& offloader, Layout layout)
    : device_(device),
      offloader_(offloader),
      layout_(layout),
      slab_(device, {.slots = layout.slots, .slot_size = layout.slot_size}),
      stream_(device.make_stream()) {
  for (std::size_t at = 0; at < layout.slots; ++at) {
    buffers_.emplace_back(stream_, device.memory(), layout.slot_size);
    free_.push_back(at);
  }
}

UploadSlots::~UploadSlots() {
  offloader_.cancel();  // where it was not closed: then it lets go of the slots
  {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return free_.size() == layout_.slots; });
  }
  try {
    stream_.ref().sync();
  } catch (const std::exception&) {
    // The device is lost; nothing of it runs any more.
  }
}

UploadSlots::Slot UploadSlots::acquire() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [&] { return !free_.empty(); });
  const std::size_t number = free_.back();
  Slot slot;
  slot.number_ =
      std::shared_ptr<const std::size_t>(new std::size_t(number), [this](const std::size_t* taken) {
        give(*taken);
        delete taken;
      });
  free_.pop_back();
  slot.bytes_ = slab_.slot(number);
  return slot;
}

void UploadSlots::give(std::size_t number) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(number);  // within its capacity
  given_.notify_all();
}

Ticket UploadSlots::submit(Slot slot, std::span<const TensorPart> parts) {
  std::byte* const data = buffers_[*slot.number_].data();
  std::size_t used = 0;
  tensors_.clear();
  for (const TensorPart& part : parts) {
    used = round_up(used, Pipeline::part_alignment);
    tensors_.push_back({.what = part, .data = data + used});
    used += part.part.desc.size();
  }
  device_.copy_async(stream_, {.to = data, .from = slot.bytes_.data(), .size = used});
  return offloader_.submit(stream_, {.tensors = tensors_, .keep_alive = std::move(slot.number_)});
}

}  // namespace offramp
