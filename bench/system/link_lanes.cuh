// SPDX-License-Identifier: Apache-2.0
// The ways off a GPU and on, raw and coded, that link_bench times.
#pragma once

#include "link_model.cuh"

#include <offramp/device/host_slab.hpp>
#include <offramp/engine/offloader.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace link_bench {

using namespace offramp;

inline std::size_t values_size = 4096 * mib;  // less for --quick
constexpr std::size_t raw_host = 1024 * mib;  // page-locked, each way

struct Rates {
  double off{}, on{};  // GB/s; 0: not run
};

/// A way off and a way on. Each call moves data until the time is over, and returns the rate.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual double off(double seconds) = 0;
  virtual double on(double seconds) = 0;

  Rates run(bool with_off, bool with_on, double seconds) {
    Rates rates;
    std::thread other;
    if (with_on) other = std::thread([&] { rates.on = on(seconds); });
    if (with_off) rates.off = off(seconds);
    if (other.joinable()) other.join();
    if (!with_off && !with_on) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return rates;
  }
};

class RawLane final : public Lane {
 public:
  RawLane(Device& device, std::byte* values, std::byte* back, std::size_t chunk)
      : values_(values), back_(back), chunk_(chunk), host_(host(device)) {
    for (auto* stream : {&off_, &on_})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  }
  ~RawLane() override {
    for (auto* stream : {&off_, &on_}) cudaStreamDestroy(*stream);
  }

  double off(double seconds) override {
    return move(seconds, off_, [&](std::size_t at) {
      check(cudaMemcpyAsync(host_->slot(0).data() + at % raw_host, values_ + at, chunk_,
                            cudaMemcpyDeviceToHost, off_));
    });
  }
  double on(double seconds) override {
    return move(seconds, on_, [&](std::size_t at) {
      check(cudaMemcpyAsync(back_ + at, host_->slot(1).data() + at % raw_host, chunk_,
                            cudaMemcpyHostToDevice, on_));
    });
  }

 private:
  static const HostSlab* host(Device& device) {
    static const HostSlab slab(device, {.slots = 2, .slot_size = raw_host});
    return &slab;
  }

  double move(double seconds, cudaStream_t stream, const std::function<void(std::size_t)>& copy) {
    constexpr std::size_t in_flight = 8;
    cudaEvent_t done[in_flight];
    for (auto& event : done)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
    const double start = now();
    std::size_t count = 0;
    for (; now() - start < seconds; ++count) {
      if (count >= in_flight) check(cudaEventSynchronize(done[count % in_flight]));
      copy(count * chunk_ % values_size);
      check(cudaEventRecord(done[count % in_flight], stream));
    }
    check(cudaStreamSynchronize(stream));
    const double took = now() - start;
    for (auto& event : done) cudaEventDestroy(event);
    return static_cast<double>(count * chunk_) / took * 1e-9;
  }

  std::byte* values_;
  std::byte* back_;
  std::size_t chunk_;
  const HostSlab* host_;
  cudaStream_t off_{}, on_{};
};

struct Setup {
  std::size_t chunk{};
  std::size_t launch{};  // chunks
  std::size_t slots{};
  std::size_t cache{OffloaderSettings{}.cache_bytes};
  std::size_t rate{};
  int priority{OffloaderSettings{}.priority};

  std::string name() const {
    std::string text = std::to_string(chunk / mib) + "MiB x" + std::to_string(launch) + " x" +
                       std::to_string(slots);
    if (priority != OffloaderSettings{}.priority) text += " low";
    if (rate != 0) text += " <" + std::to_string(rate / 1'000'000'000);
    return text;
  }
};

class CodedLane final : public Lane {
 public:
  CodedLane(Device& device, std::byte* values, std::byte* back, const Setup& setup,
            std::size_t size)
      : values_(values), back_(back), size_(size), piece_(piece_of(setup)) {
    OffloaderSettings settings;
    settings.device = &device;
    settings.chunk_size = setup.chunk;
    settings.chunks_per_launch = setup.launch;
    settings.device_slots = setup.slots;
    settings.cache_bytes = setup.cache;
    settings.restore_rate = setup.rate;
    settings.priority = setup.priority;
    settings.store_size = size + 1024 * mib;
    offloader_.emplace(std::move(settings), Codec::from_name("exact").value());
    producer_ = device.make_stream();
    consumer_ = device.make_stream();
    for (std::size_t at = 0; at < size; at += piece_) kept_.push_back(keep(at));
    for (const Kept& kept : kept_) {
      kept.ticket().wait_durable().value();
      stored_ += kept.stored_size();
    }
  }

  double ratio() const { return static_cast<double>(size_) / static_cast<double>(stored_); }
  std::size_t device_memory() { return offloader_->device_memory(); }

  double off(double seconds) override {
    std::deque<Kept> under_way;
    const double start = now();
    std::size_t moved = 0;
    for (; now() - start < seconds; moved += piece_) {
      under_way.push_back(keep(moved % size_));
      if (under_way.size() * piece_ > 512 * mib) {
        under_way.front().ticket().wait_durable().value();
        under_way.pop_front();
      }
    }
    for (const Kept& kept : under_way) kept.ticket().wait_durable().value();
    return static_cast<double>(moved) / (now() - start) * 1e-9;
  }

  double on(double seconds) override {
    const double start = now();
    std::size_t moved = 0;
    Restoring last;
    for (; now() - start < seconds; moved += piece_) last = restore(moved % size_);
    last.wait().value();
    return static_cast<double>(moved) / (now() - start) * 1e-9;
  }

  void restore_all() {
    Restoring last;
    for (std::size_t at = 0; at < size_; at += piece_) last = restore(at);
    last.wait().value();
  }

 private:
  // What one call moves: some launches.
  static std::size_t piece_of(const Setup& setup) {
    return std::max<std::size_t>(setup.chunk * setup.launch, 64 * mib);
  }

  Kept keep(std::size_t at) {
    const TensorDesc desc{DType::bf16, {piece_ / 128, 64}};
    const ChunkTensor tensor{
        .what = {.name = "kv", .tensor = desc, .part = {.first_elem = 0, .desc = desc}},
        .data = values_ + at};
    return offloader_->keep(producer_, {.tensors = {&tensor, 1}, .keep_alive = {}}).value();
  }
  Restoring restore(std::size_t at) {
    std::byte* const outs[] = {back_ + at};
    return offloader_->restore(consumer_, kept_[at / piece_], outs);
  }

  std::byte* values_;
  std::byte* back_;
  std::size_t size_;
  std::size_t piece_;
  Stream producer_, consumer_;
  std::optional<Offloader> offloader_;
  std::vector<Kept> kept_;
  std::size_t stored_{0};
};

}  // namespace link_bench
