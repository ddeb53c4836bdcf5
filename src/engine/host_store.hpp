// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/device/host_slab.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace offramp {

/// Pieces of any size in one piece of the device's fast host memory. Thread-safe; owned together
/// with its blocks.
class HostStore : public std::enable_shared_from_this<HostStore> {
 public:
  /// @throws OutOfMemory.
  HostStore(Device& device, std::size_t size);

  /// A piece of the store, given back when it dies. Move-only.
  class Block {
   public:
    Block() noexcept = default;
    Block(Block&& other) noexcept;
    Block& operator=(Block&& other) noexcept;
    ~Block();

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

    /// Gives back what lies behind the first `size` bytes.
    void shrink(std::size_t size) noexcept;

   private:
    friend class HostStore;
    Block(std::shared_ptr<HostStore> store, std::span<std::byte> bytes) noexcept;

    std::shared_ptr<HostStore> store_;
    std::span<std::byte> bytes_;
  };

  /// Room for all of `sizes`, or for none of them where one finds none.
  [[nodiscard]] std::optional<std::vector<Block>> try_allocate(std::span<const std::size_t> sizes);

  [[nodiscard]] std::size_t size() const noexcept { return slab_.slot_size(); }
  [[nodiscard]] std::size_t free() const;

  /// Every block starts at a multiple of it.
  static constexpr std::size_t alignment = 128;

 private:
  [[nodiscard]] std::optional<std::size_t> take(std::size_t size);
  void give(std::size_t at, std::size_t size) noexcept;
  void add(std::size_t at, std::size_t size);
  void remove(std::map<std::size_t, std::size_t>::iterator range);

  HostSlab slab_;
  mutable std::mutex mutex_;
  // The free ranges by place and by size.
  std::map<std::size_t, std::size_t> by_place_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
};

}  // namespace offramp
