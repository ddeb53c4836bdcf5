// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/buffer.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/offloader.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace offramp {

/// Slots to fill on the host for an offloader, whose sources are on its device: the pull face that
/// Pipeline has. A slot is free again when the offloader is through with what it held.
class UploadSlots {
 public:
  struct Layout {
    std::size_t slots{};
    std::size_t slot_size{};
  };
  /// @throws OutOfMemory. The offloader must outlive it.
  UploadSlots(Device& device, Offloader& offloader, Layout layout);

  /// After the offloader has failed or been closed.
  ~UploadSlots();
  UploadSlots(const UploadSlots&) = delete;
  UploadSlots& operator=(const UploadSlots&) = delete;

  /// Holds an empty slot; gives it back where it is not submitted.
  class Slot {
   public:
    Slot() noexcept = default;
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

   private:
    friend class UploadSlots;
    std::shared_ptr<const std::size_t> number_;
    std::span<std::byte> bytes_;
  };

  /// Waits for a slot.
  [[nodiscard]] Slot acquire();

  /// Submits the parts in the slot, one after the other, each at the next multiple of
  /// Pipeline::part_alignment. @throws as Offloader::submit.
  Ticket submit(Slot slot, std::span<const TensorPart> parts);

  /// How full a slot is to be: one launch codes it.
  [[nodiscard]] std::size_t enough() const noexcept { return layout_.slot_size; }
  [[nodiscard]] std::size_t slot_size() const noexcept { return layout_.slot_size; }

 private:
  void give(std::size_t number) noexcept;

  Device& device_;
  Offloader& offloader_;
  const Layout layout_;
  HostSlab slab_;
  Stream stream_;
  std::vector<Buffer> buffers_;
  std::vector<ChunkTensor> tensors_;

  std::mutex mutex_;
  std::condition_variable given_;
  std::vector<std::size_t> free_;
};

}  // namespace offramp
