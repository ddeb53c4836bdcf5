// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/device_codec.hpp"
#include "engine/flow.hpp"
#include "engine/host_store.hpp"
#include "engine/restore_lane.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/engine/offloader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// One part of a kept tensor.
struct KeptPart {
  TensorDesc desc{};
  std::size_t tensor{};  ///< number in the chunk
  std::size_t offset{};  ///< in the tensor's bytes
  std::vector<HostStore::Block> blocks{};
  bool stored{};
};

/// What the store has of a chunk.
struct KeptChunk {
  std::vector<KeptPart> parts{};
  HostStore::Room room{};  // for the parts that have no blocks yet
  std::size_t tensors{};
  std::atomic<std::size_t> stored_size{};
};

/// A wait that a test leaves out, to see that it matters.
enum class MissingWait {
  none,
  slot,     ///< a launch writes to a slot whose bytes are still being copied
  landing,  ///< the sink is given bytes that have not arrived
};

/// The flow behind Offloader. Before the host slots stand the submit calls, which launch the
/// kernels, a thread that waits for sizes and enqueues copies, and one that waits for these.
class OffloadCore final : public Flow {
 public:
  OffloadCore(OffloaderSettings settings, Codec codec, std::shared_ptr<RecordSink> sink,
              MissingWait missing = MissingWait::none);
  ~OffloadCore() override;

  void start() override;

  /// `kept` for a chunk to keep: its parts in order, with their blocks.
  Ticket submit(StreamRef producer, const Chunk& chunk, std::shared_ptr<KeptChunk> kept);

  /// Room in the store for all parts of the chunk, at their full size.
  Result<std::shared_ptr<KeptChunk>> make_room(const Chunk& chunk);

  [[nodiscard]] RestoreLane& lane();
  [[nodiscard]] bool has_sink() const noexcept { return sink_ != nullptr; }
  [[nodiscard]] const Codec& codec() const noexcept { return codec_; }
  [[nodiscard]] const Codec& store_codec() const noexcept { return store_; }
  [[nodiscard]] std::size_t device_memory();

  /// Bytes of the ring that the device keeps in its cache.
  [[nodiscard]] std::size_t cached() const noexcept { return cached_; }

  /// Ends both ways.
  void end_all() noexcept;

  static constexpr std::size_t most_pieces = 4096;  ///< of a launch

 private:
  struct Piece {
    std::string name{};
    TensorDesc tensor{};
    Part part{};
    const std::byte* source{};
    std::size_t offset{};       // in the device slot
    std::size_t word{};         // number of its size word, where it is coded
    bool coded{};               // a kernel coded it
    bool stored{};              // what is copied is the source
    std::size_t size{};         // of what is copied
    std::span<std::byte> to{};  // where a sink is to have it from
    KeptPart* kept{};           // or where it is kept
    std::uint64_t digest{};
  };

  // What one launch codes. Travels from the device slot to the host slot by swap.
  struct Fill {
    std::vector<Piece> pieces{};
    std::size_t count{};
    std::size_t used{};  // of the device slot
    std::size_t raw{};
    std::uint64_t chunk{};
    bool ends_chunk{};
    std::shared_ptr<const void> keep_alive{};
    std::shared_ptr<KeptChunk> kept{};

    void clear() noexcept;
    [[nodiscard]] std::span<Piece> all() noexcept { return {pieces.data(), count}; }
  };

  struct DeviceSlot {
    std::span<std::byte> room{};
    Buffer own{};  // instead of its part of the ring, for a part that codes to more
    std::span<std::uint64_t> sizes{};
    std::span<std::byte> table{};  // the launch's host scratch
    Event source_ready{};
    Event encoded{};
    Event copied{};
    Fill fill{};
    std::vector<EncodeChunk> chunks{};
    std::vector<TensorDesc> descs{};
  };

  struct HostSlot {
    Event copied{};
    Fill fill{};
    bool is_staged{};  // else its sources are in use until it has landed
  };

  static constexpr std::size_t no_slot = SIZE_MAX;

  void check(const ChunkTensor& tensor) const;
  [[nodiscard]] std::optional<std::size_t> begin_chunk();
  [[nodiscard]] std::size_t next_slot(std::uint64_t chunk);
  void open(std::size_t slot, StreamRef producer, const Chunk& chunk,
            const std::shared_ptr<KeptChunk>& kept);
  [[nodiscard]] bool has_room(const DeviceSlot& slot, std::size_t need) const noexcept;
  void add(std::size_t slot, const ChunkTensor& from, const Part& part, std::size_t need,
           KeptPart* kept);
  void launch(std::size_t slot);
  std::uint64_t pass_on(std::size_t slot, bool ends_chunk) noexcept;
  void end_submit() noexcept;
  [[nodiscard]] std::size_t room_for(const TensorDesc& desc) const;

  void link();
  void link_one(std::unique_lock<std::mutex>& lock, std::size_t slot);
  bool settle(DeviceSlot& slot);
  void copy_out(DeviceSlot& from, std::size_t host);
  void land();

  void transform(Task& task, std::size_t coder) override;
  Consumed consume(const Task& task) override;
  void finish() override;
  void add_to(Counters& counters) const noexcept override;

  const OffloaderSettings settings_;
  Device& device_;
  const DeviceCodec& kernels_;
  const Codec codec_;
  const Codec store_;
  const StageId stage_;
  const bool raw_lane_;
  const std::shared_ptr<RecordSink> sink_;
  const MissingWait missing_;
  const std::size_t slot_size_;

  // In this order: a stream outlives the buffers that are freed in its order.
  std::shared_ptr<HostStore> host_store_;
  HostSlab host_slab_;
  HostSlab words_;
  HostSlab tables_;
  Stream encode_stream_;
  Stream copy_stream_;
  Buffer ring_;
  std::size_t cached_{0};
  Buffer scratch_;
  std::vector<DeviceSlot> slots_;
  std::vector<HostSlot> host_;
  std::vector<Fill> writing_;           // by coded slot
  std::vector<Device::Copy> copies_{};  // the linking thread's

  std::mutex
      submit_mutex_;  // launches of one chunk stand together in the stream, and share scratch
  std::mutex lane_mutex_;
  std::shared_ptr<RestoreLane> lane_;

  // Guarded by the flow's mutex.
  SlotPool device_pool_;
  Ring<std::size_t> launched_;
  Ring<std::size_t> landing_;
  std::uint64_t accepted_{0};
  std::uint64_t shrunk_{0};  // launches whose sizes are known
  std::size_t unstaged_{0};  // launches in `landing_` whose sources are in use
};

}  // namespace offramp
