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

/// Bytes in one piece of the device's fast host memory, of which it is known only late how many
/// there are: room is reserved first, and blocks of the exact size are taken from it later. Thread-
/// safe; owned together with its blocks.
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

   private:
    friend class HostStore;
    Block(std::shared_ptr<HostStore> store, std::span<std::byte> bytes) noexcept;

    std::shared_ptr<HostStore> store_;
    std::span<std::byte> bytes_;
  };

  /// Room that nobody else gets. What is not taken of it is given back when it dies. Move-only.
  class Room {
   public:
    Room() noexcept = default;
    Room(Room&& other) noexcept;
    Room& operator=(Room&& other) noexcept;
    ~Room();

    /// `size` bytes of the `reserved` that were asked for them; the rest is free again. One block,
    /// or several where the store's free bytes lie so scattered. @throws LogicError beyond the
    /// room.
    [[nodiscard]] std::vector<Block> take(std::size_t size, std::size_t reserved);

   private:
    friend class HostStore;
    Room(std::shared_ptr<HostStore> store, std::size_t size) noexcept;

    std::shared_ptr<HostStore> store_;
    std::size_t left_{0};
  };

  /// Room for all of `sizes`, or nothing.
  [[nodiscard]] std::optional<Room> try_reserve(std::span<const std::size_t> sizes);

  [[nodiscard]] std::size_t size() const noexcept { return slab_.slot_size(); }

  /// Bytes neither taken nor reserved.
  [[nodiscard]] std::size_t free() const;

  /// Every block starts at a multiple of it.
  static constexpr std::size_t alignment = 128;

 private:
  [[nodiscard]] Block cut(std::size_t size);
  void give(std::size_t at, std::size_t size) noexcept;
  void add(std::size_t at, std::size_t size);
  void remove(std::map<std::size_t, std::size_t>::iterator range);

  HostSlab slab_;
  mutable std::mutex mutex_;
  // The free ranges by place and by size.
  std::map<std::size_t, std::size_t> by_place_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
  std::size_t free_{0};
  std::size_t reserved_{0};
};

}  // namespace offramp
