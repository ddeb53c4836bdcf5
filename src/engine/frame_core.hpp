// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/flow.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/frame_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace offramp {

/// The flow behind FrameWriter. Before the host slots stand the submits that wait, a thread that
/// takes slots for them and enqueues their conversions, and one that waits for these and for the
/// copies behind them.
class FrameCore final : public Flow {
 public:
  FrameCore(FrameWriterSettings settings, const FrameFormat& format,
            std::shared_ptr<FrameSink> sink);
  ~FrameCore() override;

  /// Begins the sink and starts the threads.
  void start() override;

  Ticket submit(StreamRef stream, const FrameView& frames, std::shared_ptr<const void> keep_alive);
  [[nodiscard]] std::size_t acquire_in_place();
  Ticket submit_in_place(std::size_t slot, std::size_t frames);
  [[nodiscard]] std::span<std::byte> host_slot(std::size_t slot) const noexcept {
    return host_slab_.slot(slot);
  }
  [[nodiscard]] const FrameFormat& format() const noexcept { return format_; }
  [[nodiscard]] std::chrono::milliseconds patience() const noexcept {
    return settings_.abandon_after;
  }
  [[nodiscard]] std::optional<Error> error() const;

  /// Whether the threads are of this process: one that was forked has none of them.
  [[nodiscard]] bool is_at_home() const noexcept;
  /// Elsewhere: destroys nothing, now or later, since the file is the other process's.
  void leave() noexcept { left_ = shared_from_this(); }

 private:
  static constexpr std::size_t no_slot = SIZE_MAX;

  // What one call submitted, until its last frame is converted.
  struct Submit {
    FrameView view{};
    std::shared_ptr<const void> keep_alive{};
    Event ready{};  // the producer's stream has got there
    bool pageable{};
    std::uint64_t chunk{};
    std::uint64_t first_frame{};
    std::uint64_t submitted_ns{};
    std::uint64_t ready_ns{};
  };

  // What is in a slot.
  struct Fill {
    std::uint64_t chunk{};
    std::uint64_t first_frame{};
    std::size_t frames{};
    std::uint64_t raw{};  // bytes of the source
    bool ends_chunk{};
  };

  // A slot. The first are the host's, then come the device's.
  struct Entry {
    Fill fill{};
    Event converted{};
    std::uint64_t enqueued_ns{};
  };

  // Frames on their way to the writer; the host slot or the coded bytes are their Task's.
  struct Coded {
    Fill fill{};
    const std::byte* data{};                     // where frames go on as they are
    std::vector<std::vector<std::byte>> frames;  // where they are coded
  };

  struct Pending {
    std::size_t at{};  // submit, or host slot
    bool in_place{};
  };

  // Behind the thread that enqueues: a slot under conversion, one filled in place, or, without a
  // slot, the rest of a submit that is given up.
  struct Staging {
    std::size_t slot{};
    std::size_t submit{};
    bool in_place{};
    bool ends_submit{};
    std::uint64_t fills{1};
  };

  [[nodiscard]] bool has_device_slots() const noexcept { return device_slots_ > 0; }
  [[nodiscard]] std::byte* slot_data(std::size_t slot) const noexcept;
  [[nodiscard]] std::uint64_t fills_of(const Submit& submit) const noexcept;
  [[nodiscard]] std::size_t frames_in(const Submit& submit, std::uint64_t fill) const noexcept;

  [[nodiscard]] std::optional<std::size_t> begin_submit();
  std::uint64_t queue(std::size_t at);
  [[nodiscard]] std::uint64_t next_frame() const noexcept;
  [[nodiscard]] bool upstream_over() const noexcept;

  // The thread that enqueues.
  void enqueue();
  void enqueue_submit(std::unique_lock<std::mutex>& lock, std::size_t at);
  [[nodiscard]] bool convert_into(std::size_t slot, const Submit& submit, std::uint64_t fill);

  // The thread that waits.
  void stage();
  void stage_one(std::unique_lock<std::mutex>& lock, const Staging& next);
  void wait_for_conversion(const Staging& next);
  void mark_converted(std::unique_lock<std::mutex>& lock, const Staging& next);
  [[nodiscard]] std::size_t take_host_slot(std::unique_lock<std::mutex>& lock);
  void copy_to_host(std::size_t host, std::size_t slot);
  void convert_on_host(std::size_t host, const Staging& next);
  void wait_for(const Event& event) const;

  // Names the frame where the report throws.
  [[nodiscard]] std::function<void(const Counters&)> progress_report(
      std::function<void(const Counters&)> report);

  void transform(Task& task, std::size_t coder) override;
  Consumed consume(const Task& task) override;
  void finish() override;
  void add_to(Counters& counters) const noexcept override;
  void expect_running() const;

  const FrameWriterSettings settings_;
  const FrameFormat format_;
  const std::size_t frame_size_;
  const std::size_t frames_per_slot_;
  Device& device_;
  const bool on_host_;
  const std::size_t device_slots_;
  const bool codes_;
  const std::size_t coders_count_;
  const std::shared_ptr<FrameSink> sink_;

  // In this order: a stream's last work is done before the slots it writes to are gone.
  HostSlab host_slab_;
  Stream convert_stream_;
  Stream copy_stream_;  // from device slots to host slots
  std::vector<Buffer> device_buffers_;
  std::vector<Submit> submits_;
  std::vector<Entry> entries_;  // by slot
  std::vector<Coded> coded_;
  Event copied_{};
  std::uint64_t last_ready_ns_{};      // of the thread that waits
  std::uint64_t last_converted_ns_{};  // likewise
  std::uint64_t written_{};            // of whoever writes, in turn
  bool sink_done_{false};              // likewise
  const int process_;
  std::shared_ptr<Flow> left_{};

  // Guarded by the mutex.
  SlotPool submit_pool_;
  SlotPool device_pool_;
  Ring<Pending> pending_;
  Ring<Staging> staging_;
  bool staging_busy_{false};
  std::uint64_t accepted_{0};    // fills with a number
  std::uint64_t next_frame_{0};  // and frames
};

}  // namespace offramp
