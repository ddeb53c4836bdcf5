// SPDX-License-Identifier: Apache-2.0
// What the engine's tests share: sinks that misbehave on command, and sample tensors.
#pragma once

#include <offramp/codec/codec.hpp>
#include <offramp/device/device_table.hpp>
#include <offramp/engine/pipeline.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace offramp::testing_engine {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

/// The codecs of this build.
inline std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const auto* name : {"store", "exact", "exact-dense"}) {
    if (Codec::from_name(name)) names.emplace_back(name);
  }
  return names;
}

inline Codec codec(std::string_view name) { return Codec::from_name(name).value(); }

/// A door that threads wait at; open at first.
class Gate {
 public:
  void shut() { set(false); }
  void open() { set(true); }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
  }
  /// Until somebody stands before the shut door. @returns whether that came about.
  bool wait_for_someone() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return waiting_ > 0; });
  }

 private:
  void set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_{true};
  int waiting_{0};
};

/// A sink that keeps what it is given, behind a gate, and throws where it is told to.
class KeepingSink final : public RecordSink {
 public:
  struct Record {
    std::uint64_t chunk{};
    std::string name{};
    TensorDesc tensor{};
    Part part{};
    Codec codec{};
    Bytes payload{};
    std::uint64_t digest{};

    [[nodiscard]] Bytes decode() const {
      Bytes out(part.desc.size());
      Workers workers(1);
      Bytes scratch(codec.decode_scratch_size(part.desc, 1));
      codec.decode(payload, part.desc, 0, out, scratch, workers).value();
      return out;
    }
  };

  /// A sum that neither the order nor the place of bytes leaves alone; never 0.
  [[nodiscard]] std::uint64_t digest(std::span<const std::byte> payload) const override {
    std::uint64_t sum = 1;
    for (const std::byte byte : payload) sum = sum * 31 + static_cast<std::uint64_t>(byte) + 1;
    ++coded;
    return sum | 1;
  }

  void write(const EncodedPart& part) override {
    if (writing.exchange(true)) overlapped = true;
    gate.pass();
    if (records.size() == throw_at) throw std::runtime_error("the sink broke");
    records.push_back({.chunk = part.chunk,
                       .name = std::string(part.what.name),
                       .tensor = part.what.tensor,
                       .part = part.what.part,
                       .codec = *part.codec,
                       .payload = Bytes(part.payload.begin(), part.payload.end()),
                       .digest = part.digest});
    writing = false;
  }
  void finish() override {
    if (throw_at_finish) throw std::runtime_error("the sink broke at the end");
    finished = true;
  }

  Gate gate;
  std::size_t throw_at{SIZE_MAX};
  bool throw_at_finish{false};
  std::vector<Record> records;  // read it only when the pipeline is closed
  bool finished{false};
  mutable std::atomic<std::size_t> coded{0};  // parts that a coder is through with
  std::atomic<bool> writing{false};
  std::atomic<bool> overlapped{false};  // two writes at a time
};

inline Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = std::byte(random());
  return bytes;
}

/// bf16 values near 1, which the exact codecs shrink.
inline Bytes smooth_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::size_t at = 0; at + 1 < size; at += 2) {
    const auto value = static_cast<std::uint16_t>(0x3f00u | (random() & 0x80ffu));
    std::memcpy(bytes.data() + at, &value, 2);
  }
  return bytes;
}

inline TensorPart whole(std::string_view name, const TensorDesc& desc) {
  return {.name = name, .tensor = desc, .part = {.first_elem = 0, .desc = desc}};
}

inline TensorDesc bf16(std::uint64_t elems) { return {.dtype = DType::bf16, .shape = {elems}}; }

/// Small slots, so that tests are quick.
inline PipelineSettings small_settings(std::size_t device_slots = 2) {
  PipelineSettings settings;
  settings.chunk_size = 4096;
  settings.device_slots = device_slots;
  settings.host_slots = 4;
  settings.coded_slots = 3;
  settings.threads = 2;
  return settings;
}

/// Waits until `ready()`. @returns whether that came about.
inline bool eventually(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Submits one tensor.
inline Ticket submit_one(Pipeline& pipeline, StreamRef stream, std::string_view name,
                         const Bytes& bytes, std::shared_ptr<const void> keep_alive = {}) {
  const ChunkTensor tensor{.what = whole(name, bf16(bytes.size() / 2)), .data = bytes.data()};
  return pipeline.submit(stream, {.tensors = {&tensor, 1}, .keep_alive = std::move(keep_alive)});
}

}  // namespace offramp::testing_engine
