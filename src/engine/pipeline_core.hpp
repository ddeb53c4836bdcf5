// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/flow.hpp"
#include "engine/work_buffer.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/engine/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace offramp {

/// The flow behind Pipeline: a thread that waits for copies stands before the host slots.
class PipelineCore final : public Flow {
 public:
  PipelineCore(PipelineSettings settings, Codec codec, std::shared_ptr<RecordSink> sink);

  void start() override;

  Ticket submit(StreamRef stream, const Chunk& chunk);
  [[nodiscard]] std::size_t acquire_in_place();
  Ticket submit_in_place(std::size_t slot, std::span<const TensorPart> parts);
  [[nodiscard]] std::span<std::byte> host_slot(std::size_t slot) const noexcept {
    return host_slab_.slot(slot);
  }
  [[nodiscard]] std::chrono::milliseconds patience() const noexcept {
    return settings_.abandon_after;
  }

 private:
  // One tensor part in a slot. The name's room is kept from use to use.
  struct Piece {
    std::string name{};
    TensorDesc tensor{};
    Part part{};
    std::size_t offset{};  // in the host slot
    std::span<const std::byte> payload{};
    bool stored{};
    std::uint64_t digest{};
  };

  // What is in a slot. Travels with it from pool to pool by swap.
  struct Fill {
    std::vector<Piece> pieces{};
    std::size_t count{};
    std::size_t size{};  // bytes of the slot in use
    std::uint64_t chunk{};
    bool ends_chunk{};
    std::shared_ptr<const void> keep_alive{};

    Fill();
    void clear() noexcept;
    Piece& add(const TensorPart& what);
    [[nodiscard]] std::span<Piece> used() noexcept { return {pieces.data(), count}; }
  };

  // A slot, and what happens to it. The first slots are the host's, then come the device's.
  struct Entry {
    Fill fill{};
    Event source_ready{};
    Event copied{};
  };

  // A fill on its way to the coders.
  struct Staging {
    std::size_t slot{};
    bool in_place{};  // filled by its producer: there is no copy to wait for
  };

  static constexpr std::size_t no_slot = SIZE_MAX;

  [[nodiscard]] bool has_device_slots() const noexcept { return settings_.device_slots > 0; }
  [[nodiscard]] std::byte* slot_data(std::size_t slot) const noexcept;

  // The slots that sources are copied to.
  [[nodiscard]] SlotPool& entry_pool() noexcept {
    return has_device_slots() ? device_pool_ : host_pool_;
  }
  [[nodiscard]] std::size_t first_entry() const noexcept {
    return has_device_slots() ? host_slab_.slots() : 0;
  }

  [[nodiscard]] std::optional<std::size_t> begin_chunk();
  void open_fill(std::size_t slot, StreamRef stream, const Chunk& chunk);
  void add_part(std::size_t& slot, StreamRef stream, const Chunk& chunk, const ChunkTensor& from,
                const Part& part);
  std::uint64_t close_fill(std::size_t slot, bool ends_chunk);
  void end_submit() noexcept;
  [[nodiscard]] std::uint64_t accepted_chunks() const noexcept;

  void stage();
  void stage_one(std::unique_lock<std::mutex>& lock, Staging next);
  [[nodiscard]] std::size_t to_host(std::unique_lock<std::mutex>& lock, std::size_t slot);

  void transform(Task& task, std::size_t coder) override;
  Consumed consume(const Task& task) override;
  void finish() override;
  void add_to(Counters& counters) const noexcept override;

  const PipelineSettings settings_;
  Device& device_;
  const Codec codec_;
  const Codec store_;
  const bool stores_;
  const std::shared_ptr<RecordSink> sink_;
  const std::shared_ptr<Workers> workers_;

  // In this order: a stream's last work is done before the slots it writes to are gone.
  HostSlab host_slab_;
  Stream copy_stream_;  // from the sources
  Stream host_stream_;  // from device slots to host slots
  std::vector<Buffer> device_buffers_;
  std::vector<Entry> entries_;       // by slot: the host's, then the device's
  std::vector<Fill> coded_fills_;    // by coded slot
  std::vector<WorkBuffer> coded_;    // by coded slot
  std::vector<WorkBuffer> scratch_;  // by coder

  // Guarded by the mutex.
  SlotPool device_pool_;
  Ring<Staging> staging_;
  bool staging_busy_{false};
  std::uint64_t accepted_{0};  // fills with a number
};

}  // namespace offramp
