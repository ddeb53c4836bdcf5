// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <offramp/core/result.hpp>
#include <offramp/engine/ticket.hpp>

#include <cstddef>
#include <memory>

namespace offramp {

struct KeptChunk;
class RestoreState;

/// A chunk that an Offloader keeps in its store. Cheap to copy; the last copy gives the room back,
/// once nothing is under way with it. May outlive the offloader, and then keeps the whole store.
class Kept {
 public:
  Kept() noexcept = default;

  /// Staged: the sources may be reused. Durable: the store has it.
  [[nodiscard]] const Ticket& ticket() const noexcept { return ticket_; }

  /// Bytes in the store: at first those of the tensors, once durable those of their codes.
  [[nodiscard]] std::size_t stored_size() const noexcept;

 private:
  friend class Offloader;
  Kept(std::shared_ptr<KeptChunk> chunk, Ticket ticket) noexcept;

  std::shared_ptr<KeptChunk> chunk_;
  Ticket ticket_;
};

/// A restore under way. Cheap to copy; may outlive the offloader. Thread-safe.
class Restoring {
 public:
  Restoring() noexcept = default;

  /// Whether all of it is on the device, or failed.
  [[nodiscard]] bool is_done() const;

  /// Waits for that. @returns `corrupt_payload` for coded bytes that do not decode: their place on
  /// the device then holds anything, and nothing around it was touched; or the device's error.
  Result<void> wait() const;

 private:
  friend class Offloader;
  explicit Restoring(std::shared_ptr<RestoreState> state) noexcept;

  std::shared_ptr<RestoreState> state_;
};

}  // namespace offramp
