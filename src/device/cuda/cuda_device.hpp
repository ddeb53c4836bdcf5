// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_pool.hpp"
#include "device/cuda/driver.hpp"

#include <offramp/device/device.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace offramp {

/// One GPU. Nothing is made on it before it is first used. The caller's current device is left as
/// it is, and no default stream is ever used.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal);

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }

  /// The GPU's primary context, the one that the CUDA runtime uses, made when first asked for.
  /// @throws MachineError where the GPU cannot be used.
  [[nodiscard]] CUcontext context() const;

  /// The same where a handle of this device shows that there is one.
  [[nodiscard]] CUcontext known_context() const noexcept { return context_; }

  /// `priority` as CUDA has it, clamped to what the GPU knows: the lowest number goes first.
  [[nodiscard]] Stream make_stream(int priority);

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] Stream make_stream() override { return make_stream(0); }
  [[nodiscard]] MemoryResource& memory() noexcept override { return pool_; }
  [[nodiscard]] std::byte* allocate_host(std::size_t size) override;
  void free_host(std::byte* data, std::size_t size) noexcept override;
  [[nodiscard]] bool is_pageable(const std::byte* data) const noexcept override;
  void copy_async(StreamRef stream, const Copy& copy) override;
  void copy_batch_async(StreamRef stream, std::span<const Copy> copies) override;
  void call_async(StreamRef stream, void (*fn)(void*) noexcept, void* arg) override;

  void sync(StreamRef stream) override;
  [[nodiscard]] bool is_done(StreamRef stream) override;
  void wait(StreamRef stream, const Event& event) override;
  void destroy_stream(void* native) noexcept override;
  [[nodiscard]] void* make_native_event() override;
  void destroy_event(void* native) noexcept override;
  void record(Event& event, StreamRef stream) override;
  void sync_event(const Event& event) override;
  [[nodiscard]] bool is_event_done(const Event& event) override;

 private:
  struct Ends;
  [[nodiscard]] Ends ends_of(const Copy& copy) const;
  void copy_one(StreamRef stream, const Copy& copy, const Ends& ends);
  void meet(int other);
  void check(cudaError_t code, std::string_view action) const;
  [[nodiscard]] bool is_reached(cudaError_t code, std::string_view action) const;

  int ordinal_;
  std::string name_;
  // Found at the first use.
  mutable std::once_flag made_;
  mutable std::atomic<CUcontext> context_{};
  mutable std::optional<int> numa_node_;
  CudaPool pool_;
  std::vector<std::once_flag> met_;  // by ordinal: direct access was set up, where there is some
};

/// GPU number `ordinal`, below the driver's count. The same object every time, never destroyed.
[[nodiscard]] CudaDevice& cuda_device(int ordinal);

/// `device` as what it is. @throws LogicError where it is no CUDA device.
[[nodiscard]] CudaDevice& as_cuda(StreamDriver& device);

}  // namespace offramp
