// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/device/cuda_device_kit.hpp"
#include "contract/tensor_samples.hpp"

#include <offramp/core/buffer.hpp>
#include <offramp/core/workers.hpp>
#include <offramp/cuda/codec.hpp>
#include <offramp/cuda/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

// Calls of a stage's CUDA kernels, and of its host functions, with guards around all that is
// written.

namespace offramp::testing_stage {

using testing_samples::Kind;
using Bytes = std::vector<std::byte>;

inline constexpr std::size_t guard = 256;
inline constexpr std::byte mark{0xa7};

struct Tensor {
  TensorDesc desc;
  Bytes bytes;
  std::string name;
};

inline std::string describe(const TensorDesc& desc, std::string_view kind) {
  return std::string(name_of(desc.dtype)) + desc.shape.to_string() + " " + std::string(kind);
}

class CudaStageTest : public testing_device::OnGpu {
 protected:
  virtual StageId stage() const = 0;

  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    stream_ = device().make_stream();
  }

  const StageRow& row() const { return *find_stage(stage()); }

  Bytes host_encode(const Tensor& tensor) {
    Bytes out(row().max_encoded_size(tensor.desc));
    Bytes scratch(row().encode_scratch_size(tensor.desc, workers_.size()));
    out.resize(row().encode({.in = {tensor.desc, tensor.bytes},
                             .params = {},
                             .out = out,
                             .scratch = scratch,
                             .workers = &workers_}));
    return out;
  }

  bool host_takes(const Bytes& coded, const TensorDesc& desc) {
    Bytes out(desc.size());
    Bytes scratch(row().decode_scratch_size(desc, workers_.size()));
    return row()
        .decode({.in = coded,
                 .desc = desc,
                 .params = {},
                 .first_elem = 0,
                 .out = out,
                 .scratch = scratch,
                 .workers = &workers_})
        .has_value();
  }

  // Device memory with `skew` bytes and a guard in front, filled with the mark, then `bytes`.
  struct DeviceBytes {
    Buffer buffer;
    std::size_t size{};
    std::size_t begin{};
    std::byte* data() const { return buffer.data() + begin; }
  };

  DeviceBytes place(std::size_t size, std::span<const std::byte> bytes = {}, std::size_t skew = 0) {
    DeviceBytes at{Buffer(stream_, device().memory(), size + 2 * guard + skew), size, guard + skew};
    Bytes image(at.buffer.size(), mark);
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<long>(at.begin));
    copy(at.buffer.data(), image.data(), image.size());
    return at;
  }

  Bytes fetch(const DeviceBytes& at, std::string_view what) {
    Bytes image(at.buffer.size());
    copy(image.data(), at.buffer.data(), image.size());
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (i == at.begin) i += at.size;
      if (i < image.size() && image[i] != mark) {
        ADD_FAILURE() << what << ": byte " << i << " of the guard was written";
        break;
      }
    }
    return {image.begin() + static_cast<long>(at.begin),
            image.begin() + static_cast<long>(at.begin + at.size)};
  }

  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    device().copy_async(stream_, {to, from, size});
    stream_.ref().sync();
  }

  struct CallScratch {
    Buffer device;
    HostSlab host;
    cuda::Scratch scratch;
  };
  CallScratch scratch_for(cuda::ScratchSize size) {
    CallScratch made{
        Buffer(stream_, device().memory(), std::max<std::size_t>(size.device, 1)), {}, {}};
    made.scratch.device = {made.device.data(), size.device};
    if (size.host != 0) {
      made.host = HostSlab(device(), {.slots = 1, .slot_size = size.host});
      made.scratch.host = made.host.slot(0);
    }
    return made;
  }

  // Codes all tensors in one call.
  std::vector<Bytes> encode(const std::vector<Tensor>& tensors, std::size_t skew = 0) {
    std::vector<TensorDesc> descs;
    std::vector<DeviceBytes> in, out;
    DeviceBytes sizes = place(8 * tensors.size());
    std::vector<cuda::EncodeChunk> chunks;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      descs.push_back(tensor.desc);
      in.push_back(place(tensor.bytes.size(), tensor.bytes, skew));
      out.push_back(place(row().max_encoded_size(tensor.desc)));
      chunks.push_back({.desc = tensor.desc,
                        .in = in.back().data(),
                        .out = out.back().data(),
                        .size = reinterpret_cast<std::uint64_t*>(sizes.data()) + i});
    }
    const auto scratch = scratch_for(cuda::encode_scratch_size(stage(), descs));
    cuda::encode_async(stream_, stage(), chunks, scratch.scratch);
    stream_.ref().sync();
    const Bytes got_sizes = fetch(sizes, "sizes");
    std::vector<Bytes> coded;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::uint64_t size;
      std::memcpy(&size, got_sizes.data() + 8 * i, 8);
      Bytes bytes = fetch(out[i], tensors[i].name);
      EXPECT_LE(size, bytes.size()) << tensors[i].name;
      bytes.resize(std::min<std::size_t>(size, bytes.size()));
      coded.push_back(std::move(bytes));
    }
    return coded;
  }

  // Decodes all in one call; the status words go to `status`.
  std::vector<Bytes> decode(const std::vector<Bytes>& coded, const std::vector<TensorDesc>& descs,
                            std::vector<std::uint32_t>& status, std::size_t skew = 0) {
    std::vector<DeviceBytes> in, out;
    status.assign(coded.size(), 0);
    DeviceBytes words = place(4 * coded.size(), std::as_bytes(std::span(status)));
    std::vector<cuda::DecodeChunk> chunks;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      in.push_back(place(coded[i].size(), coded[i]));
      out.push_back(place(descs[i].size(), {}, skew));
      chunks.push_back({.desc = descs[i],
                        .in = in.back().data(),
                        .in_size = coded[i].size(),
                        .out = out.back().data(),
                        .status = reinterpret_cast<std::uint32_t*>(words.data()) + i});
    }
    const auto scratch = scratch_for(cuda::decode_scratch_size(stage(), descs));
    cuda::decode_async(stream_, stage(), chunks, scratch.scratch);
    stream_.ref().sync();
    const Bytes got = fetch(words, "status words");
    std::memcpy(status.data(), got.data(), got.size());
    std::vector<Bytes> values;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      values.push_back(fetch(out[i], describe(descs[i], "decoded")));
    }
    return values;
  }

  // Where two coded tensors of one size differ: the first ranges of 16 bytes, and how many there
  // are.
  static std::string differences(const Bytes& got, const Bytes& expected) {
    constexpr std::size_t unit = 16;
    const auto same = [&](std::size_t at) {
      const std::size_t size = std::min(unit, got.size() - at);
      return std::memcmp(got.data() + at, expected.data() + at, size) == 0;
    };
    std::string ranges;
    std::size_t count = 0;
    for (std::size_t at = 0; at < got.size();) {
      const std::size_t begin = at;
      while (at < got.size() && !same(at)) at += unit;
      if (at != begin && ++count <= 8) {
        ranges += " " + std::to_string(begin) + "-" + std::to_string(at);
      }
      at += unit;
    }
    if (count == 0) return {};
    return std::to_string(count) + " ranges of " + std::to_string(got.size()) + " bytes:" + ranges;
  }

  void check_round_trip(const std::vector<Tensor>& tensors, std::size_t skew = 0) {
    const std::vector<Bytes> coded = encode(tensors, skew);
    std::vector<TensorDesc> descs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Bytes expected = host_encode(tensors[i]);
      descs.push_back(tensors[i].desc);
      ASSERT_EQ(coded[i].size(), expected.size()) << tensors[i].name;
      ASSERT_EQ(differences(coded[i], expected), "") << tensors[i].name;
    }
    std::vector<std::uint32_t> status;
    const std::vector<Bytes> values = decode(coded, descs, status, skew);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(status[i], 0u) << tensors[i].name;
      EXPECT_TRUE(values[i] == tensors[i].bytes) << tensors[i].name;
    }
  }

  static Tensor make(DType dtype, Shape shape, Kind kind, std::uint64_t seed) {
    const TensorDesc desc{dtype, shape};
    return {desc, testing_samples::sample(desc, kind, seed),
            describe(desc, testing_samples::name_of(kind))};
  }

  Workers workers_{2};
  Stream stream_;
};

}  // namespace offramp::testing_stage
