// SPDX-License-Identifier: Apache-2.0
// Tensors on a device, and places for them, for the suite of offload_contract.hpp.
#pragma once

#include "contract/offload_kit.hpp"
#include "contract/tensor_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace offramp::testing_offload {

using testing_samples::Kind;

class OffloadContract : public testing::TestWithParam<Device* (*)()> {
 protected:
  void SetUp() override {
    if (!GetParam()()) GTEST_SKIP() << "no such device here; " << testing_device::absent_devices();
    stream = device().make_stream();
  }

  Device& device() { return *GetParam()(); }
  OffloaderSettings small() { return small_offloader(device()); }

  /// That the device has kernels for, and the raw lane.
  std::vector<const char*> codecs() {
    std::vector<const char*> known;
    for (const char* const name : {"exact", "exact-dense", "store"}) {
      if (Offloader::check_supported(device(), codec(name), DType::bf16)) known.push_back(name);
    }
    return known;
  }

  OnDevice make(DType dtype, Shape shape, Kind kind, std::uint64_t seed) {
    const TensorDesc desc{dtype, shape};
    return put(device(), stream, desc, testing_samples::sample(desc, kind, seed));
  }

  static std::vector<OnDevice> just(OnDevice tensor) {
    std::vector<OnDevice> tensors;
    tensors.push_back(std::move(tensor));
    return tensors;
  }

  /// Of every dtype, shapes of one part and of many, codes that shrink and that do not.
  std::vector<OnDevice> many_kinds() {
    std::vector<OnDevice> tensors;
    std::uint64_t seed = 1;
    for (const DType dtype : testing_samples::all_dtypes()) {
      for (const Shape& shape : {Shape{1}, Shape{700, 64}, Shape{33, 100}}) {
        const Kind kind = testing_samples::all_kinds[seed % testing_samples::all_kinds.size()];
        tensors.push_back(make(dtype, shape, kind, seed++));
      }
    }
    tensors.push_back(make(DType::bf16, {3, 1024, 64}, Kind::channels, 1));
    tensors.push_back(make(DType::fp32, {0, 7}, Kind::zeros, 1));
    tensors.push_back(make(DType::fp32, {}, Kind::gaussian, 1));
    return tensors;
  }

  std::vector<ChunkTensor> chunk_of(const std::vector<OnDevice>& tensors) {
    names.clear();
    for (std::size_t at = 0; at < tensors.size(); ++at) names.push_back("t" + std::to_string(at));
    std::vector<ChunkTensor> chunk;
    for (std::size_t at = 0; at < tensors.size(); ++at)
      chunk.push_back(whole_of(names[at], tensors[at]));
    return chunk;
  }

  /// Places for the tensors, one behind the other with marks between.
  struct Places {
    Buffer buffer;
    std::vector<std::size_t> at;
    std::vector<std::byte*> outs;
  };
  static constexpr std::size_t guard = 256;
  static constexpr std::byte mark{0x5b};

  Places places_for(const std::vector<OnDevice>& tensors) {
    Places places;
    std::size_t size = guard;
    for (const OnDevice& tensor : tensors) {
      places.at.push_back(size);
      size += (tensor.bytes.size() + 2 * guard - 1) / guard * guard;
    }
    const Bytes marks(size, mark);
    places.buffer = Buffer(stream, device().memory(), size);
    device().copy_async(stream, {places.buffer.data(), marks.data(), size});
    stream.ref().sync();
    for (const std::size_t at : places.at) places.outs.push_back(places.buffer.data() + at);
    return places;
  }

  /// Looked at on the consumer's stream, without any other wait.
  void expect_restored(const std::vector<OnDevice>& tensors, const Places& places) {
    const Bytes got = fetch(device(), stream, places.buffer.data(), places.buffer.size());
    std::size_t behind = 0;
    for (std::size_t at = 0; at < tensors.size(); ++at) {
      const auto begin = got.begin() + static_cast<std::ptrdiff_t>(places.at[at]);
      EXPECT_TRUE(std::equal(tensors[at].bytes.begin(), tensors[at].bytes.end(), begin))
          << "tensor " << at << " " << name_of(tensors[at].desc.dtype)
          << tensors[at].desc.shape.to_string();
      for (; behind < places.at[at]; ++behind) ASSERT_EQ(got[behind], mark) << behind;
      behind += tensors[at].bytes.size();
    }
    for (; behind < got.size(); ++behind) ASSERT_EQ(got[behind], mark) << behind;
  }

  Stream stream;
  std::vector<std::string> names;
};

}  // namespace offramp::testing_offload
