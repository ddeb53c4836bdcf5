// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/device_codec.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/event.hpp>
#include <offramp/core/result.hpp>
#include <offramp/device/device.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/offloader.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace offramp {

/// A coded chunk in several pieces of host memory.
struct CodedPieces {
  const Codec* codec{};
  TensorDesc desc{};
  std::vector<std::span<const std::byte>> pieces{};
  std::size_t size{};  ///< of all
  std::byte* out{};

  explicit CodedPieces(const CodedChunk& chunk);
  CodedPieces() = default;
};

/// How far one restore has come. Shared between its holders and the lane.
class RestoreState {
 public:
  void add() noexcept;
  /// One of what was added is done. The first error stays.
  void settle(std::optional<Error> error) noexcept;

  [[nodiscard]] bool is_done() const;
  Result<void> wait() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  std::size_t pending_{0};
  std::optional<Error> error_;
};

/// The way on: coded bytes to the device, decoded there. Copy and decode are enqueued together; a
/// thread that waits for them reads what the kernels refused.
class RestoreLane : public std::enable_shared_from_this<RestoreLane> {
 public:
  struct Settings {
    std::size_t slot_size{};  ///< coded bytes of a launch
    std::size_t slots{};
    StageId stage{StageId::store};  ///< whose kernels are loaded at once; others at their first use
    int priority{};
    std::size_t rate{};  ///< bytes of original data a second; 0: no limit
  };
  RestoreLane(Device& device, const Settings& settings);

  void start();

  /// Offloader::restore.
  std::shared_ptr<RestoreState> restore(StreamRef consumer, std::span<const CodedPieces> chunks,
                                        const std::shared_ptr<const void>& keep_alive);

  /// Lets what is under way finish, no longer than `patience`, and ends the thread, or leaves it.
  void end(std::chrono::milliseconds patience) noexcept;

  [[nodiscard]] std::size_t device_memory();

 private:
  // One launch. Calls go round; each uses device slot number `call % slots`.
  struct Call {
    std::span<std::uint32_t> words{};  // of the chunks: what the kernels refused
    std::span<std::byte> table{};      // the launch's host scratch
    Event ready{};                     // the consumer's
    Event arrived{};                   // the coded bytes on the device
    Event decoded{};
    std::vector<DecodeChunk> chunks{};
    std::vector<TensorDesc> descs{};
    std::shared_ptr<RestoreState> state{};
    std::shared_ptr<const void> keep_alive{};
    std::optional<Error> error{};
  };
  struct Slot {
    Buffer bytes{};
  };

  std::size_t begin_call();
  void enqueue(Call& call, std::size_t number, StreamRef consumer,
               std::span<const CodedPieces> chunks);
  void pace(std::size_t bytes);
  void work();
  void settle(Call& call) noexcept;

  Device& device_;
  const DeviceCodec& kernels_;
  const Settings settings_;
  HostSlab words_;
  HostSlab tables_;
  Stream copy_stream_;
  Stream decode_stream_;
  std::vector<Slot> slots_;
  Buffer scratch_;
  std::vector<Call> calls_;
  std::vector<Device::Copy> copies_;

  std::mutex restore_mutex_;  // one restore at a time enqueues
  std::chrono::steady_clock::time_point next_{};

  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t begun_{0};    // calls
  std::uint64_t passed_{0};   // of these, that the thread may wait for
  std::uint64_t settled_{0};  // of these, that are done
  bool ending_{false};
  bool ended_{true};
  std::thread thread_;
};

}  // namespace offramp
