// SPDX-License-Identifier: Apache-2.0
// What the tests of the offloader share, on whatever device.
#pragma once

#include "contract/device_kit.hpp"
#include "engine/offload_core.hpp"
#include "unit/engine/engine_kit.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/device/host_slab.hpp>
#include <offramp/engine/offloader.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace offramp::testing_offload {

using namespace testing_engine;

/// A tensor on a device, and what it holds.
struct OnDevice {
  TensorDesc desc{};
  Bytes bytes{};
  Buffer data{};
};

inline OnDevice put(Device& device, StreamRef stream, TensorDesc desc, Bytes bytes) {
  OnDevice tensor{.desc = desc, .bytes = std::move(bytes), .data = {}};
  tensor.data = Buffer(stream, device.memory(), tensor.bytes.size());
  device.copy_async(stream, {tensor.data.data(), tensor.bytes.data(), tensor.bytes.size()});
  stream.sync();  // `tensor` moves
  return tensor;
}

inline Bytes fetch(Device& device, StreamRef stream, const std::byte* data, std::size_t size) {
  Bytes bytes(size);
  device.copy_async(stream, {bytes.data(), data, size});
  stream.sync();
  return bytes;
}

inline ChunkTensor whole_of(std::string_view name, const OnDevice& tensor) {
  return {.what = whole(name, tensor.desc), .data = tensor.data.data()};
}

/// Small launches, so that tests go round the rings.
inline OffloaderSettings small_offloader(Device& device) {
  OffloaderSettings settings;
  settings.device = &device;
  settings.chunk_size = 64 << 10;
  settings.chunks_per_launch = 3;
  settings.store_size = 16 << 20;
  return settings;
}

/// Expects tensors in turns, and poisons the memory that it was given them in.
class PoisonedSink final : public RecordSink {
 public:
  void write(const EncodedPart& part) override {
    // A host slot, which is the offloader's to write to: so this is what the next fill overwrites.
    const std::span<std::byte> bytes{const_cast<std::byte*>(part.payload.data()),
                                     part.payload.size()};
    // From the end, which arrives last, so that it is not waited for by looking.
    got.resize(std::max(got.size(), bytes.size()));
    constexpr std::size_t step = 64 << 10;
    for (std::size_t end = bytes.size(); end > 0;) {
      const std::size_t begin = end - std::min(end, step);
      std::memcpy(got.data() + begin, bytes.data() + begin, end - begin);
      end = begin;
    }
    const Bytes& whole = expected[seen++ % expected.size()];
    Bytes out(part.what.part.desc.size());
    scratch.resize(part.codec->decode_scratch_size(part.what.part.desc, 1));
    const auto decoded = part.codec->decode(std::span(got).first(bytes.size()), part.what.part.desc,
                                            0, out, scratch, workers);
    if (!decoded || out != whole) ++wrong;
    std::ranges::fill(bytes, std::byte{0xee});
  }

  std::vector<Bytes> expected;
  Bytes got;  // has its size before: what is looked at must not wait for memory
  std::size_t seen{0};
  int wrong{0};

 private:
  Workers workers{1};
  Bytes scratch;
};

/// What an archive of these tensors holds when the host's pipeline makes it.
inline std::vector<KeepingSink::Record> host_records(const std::vector<OnDevice>& tensors,
                                                     std::string_view codec_name,
                                                     std::size_t chunk_size) {
  const auto sink = std::make_shared<KeepingSink>();
  PipelineSettings settings;
  settings.chunk_size = chunk_size;
  settings.device_slots = 0;
  settings.threads = 1;
  Pipeline pipeline(settings, codec(codec_name), sink);
  const Stream stream = host_device().make_stream();
  for (std::size_t at = 0; at < tensors.size(); ++at) {
    const std::string name = "t" + std::to_string(at);
    const ChunkTensor tensor{.what = whole(name, tensors[at].desc),
                             .data = tensors[at].bytes.data()};
    pipeline.submit(stream, {.tensors = {&tensor, 1}, .keep_alive = {}});
  }
  pipeline.close();
  return std::move(sink->records);
}

inline void expect_same_records(const std::vector<KeepingSink::Record>& got,
                                const std::vector<KeepingSink::Record>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t at = 0; at < got.size(); ++at) {
    SCOPED_TRACE(at);
    EXPECT_EQ(got[at].name, expected[at].name);
    EXPECT_EQ(got[at].tensor, expected[at].tensor);
    EXPECT_EQ(got[at].part, expected[at].part);
    EXPECT_TRUE(got[at].codec == expected[at].codec);
    EXPECT_EQ(got[at].digest, expected[at].digest);
    ASSERT_TRUE(got[at].payload == expected[at].payload);
  }
}

}  // namespace offramp::testing_offload
