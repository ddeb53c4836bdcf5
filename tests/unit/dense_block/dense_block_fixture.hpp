// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec/exact_dense/block/dense_block_tile.hpp"
#include "unit/exact_block/block_fixture.hpp"

#include <cstddef>
#include <memory>

// Samples, and how a call's memory is watched, are those of the exact block code.

namespace offramp::exact_dense::block {

using exact::block::ByteVector;
using exact::block::Coded;
using exact::block::CpuBlock;
using exact::block::DecodeCall;
using exact::block::EncodeCall;
using exact::block::Place;
using exact::block::TileSample;

/// The host's tile code.
[[nodiscard]] Coded dense_encode_on_host(const TileSample& sample);
[[nodiscard]] bool dense_decode_on_host(DType dtype, TileExtent extent, const Coded& coded,
                                        ByteVector& values);

[[nodiscard]] const Tables& host_tables();

/// The scratch of one block, with rubbish in it.
class DenseMemory {
 public:
  explicit DenseMemory(DType dtype);
  [[nodiscard]] DenseScratch view() const;

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::unique_ptr<DenseShared> shared_ = std::make_unique<DenseShared>();
  std::unique_ptr<exact::block::BlockShared> exact_ = std::make_unique<exact::block::BlockShared>();
};

template <class B>
[[nodiscard]] CodedTile encode_by(B& block, const EncodeCall& call, const DenseScratch& scratch) {
  return encode_tile(block, call.dtype, call.extent, call.values, call.pitch, call.body, call.heap,
                     scratch);
}
template <class B>
[[nodiscard]] bool decode_by(B& block, const DecodeCall& call, const DenseScratch& scratch) {
  return decode_tile(block, call.dtype, call.extent, call.mode, call.body, call.heap, call.values,
                     call.pitch, scratch);
}

[[nodiscard]] Coded dense_encode_by_block(CpuBlock& block, const TileSample& sample, Place place);
[[nodiscard]] bool dense_decode_by_block(CpuBlock& block, DType dtype, TileExtent extent,
                                         const Coded& coded, Place place, ByteVector& values);

inline constexpr exact::block::TileCode dense_code{dense_encode_on_host, dense_decode_on_host,
                                                   dense_encode_by_block, dense_decode_by_block};

}  // namespace offramp::exact_dense::block
